import { afterEach, expect, test } from 'vitest';
import type { QueueAppOptions } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';
import { testOnPostgres } from '../support/run-database.js';
import { useQueue } from '../worker/queue-bench.js';

// Every look that counts needs these two; the server's start counts for as long as by default.
const recovery = { intervalMs: 200, confirmMs: 100 };
const bench = useQueue();

afterEach(() => bench.pool.query('delete from tasks_worker'));

/** Leaves an attempt of a worker that is lost, and that has stored these times of the clock before it was set back. */
async function leave(changes: string): Promise<string> {
  const { worker, close } = await bench.start({ recovery: false });
  const { id } = worker;
  await close();
  await bench.pool.query(`update tasks_worker set stopped_at = null, ${changes} where id = $1`, [id]);
  await bench.pool.query(
    `insert into tasks (processo, status, executor, reserva) values ('hold', 'processando', $1, 1)`,
    [id],
  );
  return String(id);
}

async function recoverer(options: QueueAppOptions = {}): Promise<string> {
  const { events } = await bench.start({ recovery, ...options });
  return (await nextEvent(events, 'task.recovered')).workerId;
}

test.each(['missed_at', 'lease_until'])(
  'a lost worker is recovered that has stored %s before the clock was set back',
  async (column) => {
    const lost = await leave(`${column} = now() + interval '2 hours'`);
    expect(await recoverer({ recovery: { ...recovery, graceMs: 0 } })).toBe(lost);
  },
);

testOnPostgres('a server that has started in the future is not taken for one that starts', async () => {
  const lost = await leave(`missed_at = null`);
  const {
    rows: [row],
  } = await bench.pool.query<{ name: string }>('select current_database() as name');
  // What stands before `pg_catalog` is called in place of what is in it.
  await bench.pool.query(`
    create schema ahead;
    create function ahead.pg_postmaster_start_time() returns timestamptz language sql
      as $$ select now() + interval '2 hours' $$;
    alter database ${row?.name} set search_path = ahead, pg_catalog, public`);
  expect(await recoverer({ table: 'public.tasks' })).toBe(lost);
});
