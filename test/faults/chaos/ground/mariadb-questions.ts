import type { Pool } from 'mysql2/promise';
import { livenessPrefix } from '../../../../lib/coordination/lock-names.js';
import { isConnectionError } from '../../../../lib/storage/mysql/mysql-errors.js';
import { lockPrefix } from '../../../../lib/storage/mysql/lock-name.js';
import { violation } from '../oracles/oracle.js';
import { hostile, insertHostile, isToEnd, isUnfinished } from '../workload/hostile.js';
import { recurring, recurringTexts } from '../workload/recurring.js';
import type { Orphan, QueueQuestions } from './ground.js';
import { patient } from './patient.js';

/** Asks again while the server is down, has just come up, or has given the way to others. */
export const patiently = patient((error) => {
  const { errno } = error as { errno?: number };
  return isConnectionError(error) || errno === 1205 || errno === 1213 || errno === 1317;
});

/** Times that there are in MariaDB, for those that PostgreSQL calls so. */
const times: Readonly<Record<string, string>> = {
  infinity: '9999-12-31 23:59:59.999999',
  '-infinity': '1000-01-01 00:00:00',
};

/**
 * What a run asks of its queue in MariaDB.
 *
 * @param workerUser as whom workers connect, and nobody else
 */
export function mariadbQuestions(pool: Pool, database: string, workerUser: string): QueueQuestions {
  const once = async <Row>(sql: string, values: unknown[] = []): Promise<Row[]> => {
    const [answer] = await pool.query(sql, values);
    return answer as Row[];
  };
  const ask = <Row>(sql: string, values: unknown[] = []): Promise<Row[]> =>
    patiently(() => once<Row>(sql, values));
  const lock = `concat('${lockPrefix(livenessPrefix(`${database}.tasks`))}', f.executor)`;
  return {
    countUnfinished: async () => {
      const [row] = await once<{ n: string }>(`select count(*) as n from tasks f where ${isToEnd('f')}`);
      return Number(row?.n ?? 0);
    },
    held: async () => {
      const rows = await ask<{ worker: string; n: string }>(
        `select cast(executor as char) as worker, count(*) as n from tasks where status = 'processando' group by 1`,
      );
      return rows.map(({ worker, n }) => ({ worker, rows: Number(n) }));
    },
    heldBy: async (workerId) => {
      const rows = await ask<{ id: string }>(
        `select cast(id as char) as id from tasks where executor = ? and status = 'processando'`,
        [workerId],
      );
      return rows.map(({ id }) => id);
    },
    claimerOf: async (key) => {
      const [claim] = await ask<{ worker: string }>(
        `select cast(a.new_executor as char) as worker from audit a join tasks t using (id)
         where t.origem = ? and a.new_status = 'processando'`,
        [key],
      );
      return claim?.worker;
    },
    withoutPayload: async () =>
      violation(
        'I12',
        'an attempt that is not over has no payload',
        await once<object>(
          `select f.id, f.status, f.id_inicial from tasks f left join tasks first on first.id = f.id_inicial
           where ${isUnfinished('f')} and coalesce(f.payload, first.payload) is null`,
        ),
      ),
    orphans: () =>
      once<Orphan>(
        `select cast(f.id as char) as id, f.reserva, cast(f.executor as char) as executor from tasks f
         where f.status = 'processando' and is_used_lock(${lock}) is null`,
      ),
    explain: async (ids) => {
      const free = await once<{ id: string }>(
        'select cast(id as char) as id from tasks where id in (?) for update skip locked',
        [ids],
      );
      const workers = await once<{ worker: string }>(
        `select concat_ws(' ', id, 'missed', missed_at, 'stopped', stopped_at) as worker from tasks_worker
         where stopped_at is null or missed_at is not null`,
      );
      return { free: free.map(({ id }) => id), workers: workers.map(({ worker }) => worker) };
    },
    insertUnordered: async (keys, count) => {
      await once(
        `insert into tasks (processo, payload, origem, prioridade, data_hora)
         select 'plain', '{}', concat(?, seq), 50 + (seq * 7) % 3,
           timestampadd(second, -((seq * 13) % 20), utc_timestamp(6))
         from seq_0_to_${count - 1}`,
        [keys],
      );
    },
    recur: async (fromMs) => {
      await once('insert into tasks_schedule (id, declared, rule, task, next_at) values (?, 0, ?, ?, ?)', [
        recurring.key,
        ...recurringTexts,
        new Date(fromMs),
      ]);
    },
    endRecurring: async () => {
      await once(
        `update tasks_schedule set paused_at = utc_timestamp(6)
         where id = ? and paused_at is null and next_at > utc_timestamp(6)`,
        [recurring.key],
      );
      const [ended] = await once<{ next: string }>(
        `select timestampdiff(second, '1970-01-01', next_at) * 1000 as next from tasks_schedule
         where id = ? and paused_at is not null`,
        [recurring.key],
      );
      return ended && Number(ended.next);
    },
    dropHostile: async () => {
      await ask(
        `delete f from tasks f where f.origem like ? and f.status not in ('sucesso', 'falha') and not (${isToEnd('f')})`,
        [`${hostile}%`],
      );
    },
    insertHostile: async (row) => {
      const { sql, values } = insertHostile(row);
      const text = sql
        .replaceAll(/\$\d+/g, '?')
        .replace('returning id::text', 'returning cast(id as char) as id');
      const [made] = await ask<{ id: string }>(
        text,
        values.map((value) => times[String(value)] ?? value),
      );
      return made?.id ?? '';
    },
    isAnyOver: async (ids) => {
      const over = await ask(
        `select 1 from tasks where id in (?) and status in ('sucesso', 'falha') limit 1`,
        [ids],
      );
      return over.length > 0;
    },
    lockSome: async (on, what) => {
      const statuses = what === 'waiting' ? `'pendente', 'agendada'` : `'processando'`;
      // Seen first: a sort locks all that it reads.
      const seen = await on.query(
        `select id from tasks where status in (${statuses}) order by rand() limit 3`,
      );
      if (seen.rows.length === 0) return [];
      const ids = seen.rows.map(({ id }) => String(id));
      const { rows } = await on.query(
        `select cast(id as char) as id from tasks where id in (?) for update skip locked`,
        [ids],
      );
      return rows.map(({ id }) => String(id));
    },
    resources: async () => {
      const [row] = await once<{ n: string }>(
        'select count(*) as n from information_schema.processlist where user = ?',
        [workerUser],
      );
      // A lock goes with its session.
      return { connections: Number(row?.n ?? 0), locks: 0 };
    },
  };
}
