import type { Pool, QueryResultRow } from 'pg';
import { sortHistory } from '../history.js';
import { payloadsResolve } from '../oracles/payloads.js';
import { readServerResources } from '../oracles/resources.js';
import { hostile, insertHostile, isToEnd } from '../workload/hostile.js';
import { recurring, recurringTexts } from '../workload/recurring.js';
import type { Orphan, QueueQuestions } from './ground.js';
import { patient } from './patient.js';

/** It only reads; a lock did not come in time; two waited for each other; its queue of notifications is full. */
const busy = ['25006', '55P03', '40P01', '54000'];

/** Asks again while the server is down, or has just come up, or is busy. */
export const patiently = patient((error) => {
  const { code = 'none' } = error as { code?: string };
  if (busy.includes(code)) return true;
  return code === 'none' || code.startsWith('57P') || code.startsWith('E') || code.startsWith('08');
});

/** What a run asks of its queue in PostgreSQL. */
export function postgresQuestions(pool: Pool): QueueQuestions {
  const once = async <Row extends QueryResultRow>(sql: string, values: unknown[] = []): Promise<Row[]> =>
    (await pool.query<Row>(sql, values)).rows;
  const ask = <Row extends QueryResultRow>(sql: string, values: unknown[] = []): Promise<Row[]> =>
    patiently(() => once<Row>(sql, values));
  return {
    countUnfinished: async () => {
      const [row] = await once<{ n: number }>(`select count(*)::int as n from tasks f where ${isToEnd('f')}`);
      return row?.n ?? 0;
    },
    held: () =>
      ask(
        `select executor::text as worker, count(*)::int as rows from tasks where status = 'processando' group by 1`,
      ),
    heldBy: async (workerId) => {
      const rows = await ask<{ id: string }>(
        `select id::text from tasks where executor = $1 and status = 'processando'`,
        [workerId],
      );
      return rows.map(({ id }) => id);
    },
    claimerOf: async (key) => {
      const [claim] = await ask<{ worker: string }>(
        `select a.new_executor::text as worker from audit a join tasks t using (id)
         where t.origem = $1 and a.new_status = 'processando'`,
        [key],
      );
      return claim?.worker;
    },
    withoutPayload: () => payloadsResolve({ db: pool, history: sortHistory([]) }),
    orphans: () =>
      once<QueryResultRow & Orphan>(
        `select f.id::text, f.reserva, f.executor::text from tasks f
         where f.status = 'processando' and not exists (
           select from pg_locks l
           where l.locktype = 'advisory' and l.granted
             and l.database = (select oid from pg_database where datname = current_database())
             and ((l.classid::bigint << 32) | l.objid::bigint)
               = hashtextextended('tarefa:worker:' || $1 || ':' || f.executor, 0))`,
        ['public.tasks'],
      ),
    explain: async (ids) => {
      const free = await once<{ id: string }>(
        'select id::text from tasks where id = any($1) for update skip locked',
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
         select 'plain', '{}', $1 || n, 50 + (n * 7) % 3, clock_timestamp() - (n * 13) % 20 * interval '1 second'
         from generate_series(0, $2::int - 1) n`,
        [keys, count],
      );
    },
    recur: async (fromMs) => {
      await once(
        `insert into tasks_schedule (id, declared, rule, task, next_at)
         values ($1, false, $2, $3, to_timestamp($4::float8 / 1000))`,
        [recurring.key, ...recurringTexts, fromMs],
      );
    },
    endRecurring: async () => {
      const [ended] = await once<{ next: number }>(
        `update tasks_schedule set paused_at = clock_timestamp() where id = $1 and next_at > clock_timestamp()
         returning extract(epoch from next_at)::float8 * 1000 as next`,
        [recurring.key],
      );
      return ended?.next;
    },
    dropHostile: async () => {
      await ask(
        `delete from tasks f where origem like $1 || '%' and status not in ('sucesso', 'falha') and not (${isToEnd('f')})`,
        [hostile],
      );
    },
    insertHostile: async (row) => {
      const { sql, values } = insertHostile(row);
      const [made] = await ask<{ id: string }>(sql, values);
      return made?.id ?? '';
    },
    isAnyOver: async (ids) => {
      const over = await ask(
        `select from tasks where id = any($1::bigint[]) and status in ('sucesso', 'falha') limit 1`,
        [ids],
      );
      return over.length > 0;
    },
    lockSome: async (on, what) => {
      const { rows } = await on.query(
        `select id::text from tasks where status = any($1) order by random() limit 3 for update skip locked`,
        [what === 'waiting' ? ['pendente', 'agendada'] : ['processando']],
      );
      return rows.map(({ id }) => String(id));
    },
    resources: () => readServerResources(pool),
  };
}
