import type { Pool } from 'mysql2/promise';
import type { Pool as PgPool } from 'pg';
import { contractColumns, ownColumns } from '../../../../lib/storage/postgres/schema/schema.js';
import { startCluster } from '../../kit/cluster.js';
import { createRecords } from '../schema.js';
import { columnsOf } from './mariadb-tables.js';

/** Where the judges look at what happened in another database than theirs. */
export interface JudgesCopy {
  readonly db: PgPool;
  stop(): Promise<void>;
}

const rowsAtOnce = 5_000;

/**
 * Copies a queue and its records from MariaDB into a PostgreSQL of the judges' own, so that there is one set of judges. Called
 * once nothing runs any more.
 */
export async function copyForJudges(queue: Pool): Promise<JudgesCopy> {
  // What is lost here can be copied again.
  const cluster = await startCluster({ settings: { fsync: 'off', timezone: 'UTC' } });
  try {
    const { pool } = await cluster.createDatabase();
    const columns = [...contractColumns, ...ownColumns].map(({ name, type }) => `${name} ${type}`);
    await pool.query(`create table tasks (${columns.join(', ')}, primary key (id))`);
    await createRecords(pool);
    // Nothing of it happens here: the triggers have had their say where it did.
    await pool.query('alter table tasks disable trigger all');
    const list = (await columnsOf(queue)).join(', ');
    const payload = `if(payload is null, null, '') as payload`;
    await copy(queue, pool, 'tasks', `select id as n, ${list}, ${payload} from tasks`);
    await copy(queue, pool, 'gone', `select id as n, ${list}, deleted_at, unfinished from gone`);
    await copy(queue, pool, 'audit', 'select * from audit');
    await copy(
      queue,
      pool,
      'effect',
      'select n, task_root, attempt, dead, `key`, worker, backend, cast(xid as char) as xid, worker as app from effect',
    );
    return { db: pool, stop: () => cluster.stop() };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** @param source a query whose rows have a number of their own, `n` */
async function copy(queue: Pool, judges: PgPool, table: string, source: string): Promise<void> {
  for (let last = '0'; ;) {
    const [answer] = await queue.query(
      `select * from (${source}) s where s.n > ? order by s.n limit ${rowsAtOnce}`,
      [last],
    );
    const rows = answer as { n: string }[];
    if (rows.length === 0) return;
    await judges.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [
      JSON.stringify(rows),
    ]);
    last = String(rows.at(-1)?.n);
  }
}
