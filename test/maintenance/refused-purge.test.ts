import { afterEach, beforeAll, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { runCli } from '../cli/support.js';
import type { QueueApp, QueueAppOptions } from '../support/queue-app.js';
import { layoutOfRun } from '../support/queue-app.js';
import { testOnPostgres } from '../support/run-database.js';
import { useQueue } from '../worker/queue-bench.js';

// What may not be deleted, or takes too long, must not keep the rest of the history.
const bench = useQueue();

class Handlers {
  @TaskHandler('nothing')
  nothing(): void {}
}

beforeAll(async () => {
  await (await bench.start({ worker: false })).close();
});

afterEach(async () => {
  await bench.pool.query('drop table if exists invoices');
});

async function start(options: QueueAppOptions = {}): Promise<{ app: QueueApp; warnings: readonly string[] }> {
  const app = await bench.start({
    handlers: [Handlers],
    recovery: false,
    pollIntervalMs: 0,
    purgeMinutes: [],
    ...layoutOfRun(1_000_000),
    ...options,
  });
  const warnings: string[] = [];
  app.events.on('warning', ({ message }) => warnings.push(message));
  return { app, warnings };
}

/** Tasks that ended a hundred days ago, each with a second attempt. */
async function insertOld(tasks: number): Promise<readonly string[]> {
  const old = `now() - interval '100 days'`;
  const { rows } = await bench.pool.query<{ id: string | number }>(
    `insert into tasks (processo, status, data_hora) select 'work', 'falha', ${old} from generate_series(1, ${tasks}) returning id`,
  );
  const ids = rows.map(({ id }) => String(id));
  for (const id of ids) {
    await bench.pool.query(
      `insert into tasks (processo, status, data_hora, id_inicial, id_anterior, tentativa)
       values ('work', 'sucesso', ${old}, $1, $1, 2)`,
      [id],
    );
  }
  return ids;
}

async function left(): Promise<readonly string[]> {
  const { rows } = await bench.pool.query('select coalesce(id_inicial, id) as task from tasks order by id');
  return rows.map(({ task }) => String(task));
}

/** A table of the user's that refers to tasks. */
async function refer(ids: readonly string[]): Promise<void> {
  await bench.pool.query(
    `create table invoices (task bigint, constraint invoices_task foreign key (task) references tasks (id))`,
  );
  for (const id of ids) await bench.pool.query('insert into invoices values ($1)', [id]);
}

test('a task that another table refers to stays whole, the others go, and the constraint is named once', async () => {
  const ids = await insertOld(20);
  const [first = '', second = ''] = [ids[3], ids[11]];
  await refer([first, second]);
  const { app, warnings } = await start({ purgeLimit: 8 });
  expect(await app.purge.run()).toBe(36);
  expect((await left()).toSorted()).toEqual([first, first, second, second].toSorted());
  expect(warnings).toEqual([
    expect.stringMatching(new RegExp(`^A purge left 2 old tasks, such as ${first}, .*invoices_task`)),
  ]);
  // What it knows it leaves, and goes on with the rest.
  const more = await insertOld(2);
  expect(await app.purge.run()).toBe(2 * more.length);
  expect(warnings).toHaveLength(1);
});

test('a purge that starts again finds what is free by then', async () => {
  const ids = await insertOld(3);
  await refer([ids[1] ?? '']);
  const { app } = await start();
  expect(await app.purge.run()).toBe(4);
  await bench.pool.query('delete from invoices');
  const other = await start();
  expect(await other.app.purge.run()).toBe(2);
});

testOnPostgres('blocks shrink until statement_timeout is enough for them', async () => {
  await insertOld(30);
  // 10 ms a row.
  await bench.pool.query(`
    create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.01); return old; end $$;
    create trigger slow before delete on tasks for each row execute function slow()`);
  const address = new URL(bench.database.url);
  address.searchParams.set('options', '-c statement_timeout=200');
  const { app } = await start({ connection: address.href });
  expect(await app.purge.run()).toBe(60);
  expect(await left()).toEqual([]);
  await insertOld(30);
  const env = { DATABASE_URL: address.href, QUEUE_TABLE: 'tasks' };
  expect(await runCli(['purge', '--older-than', '30'], { env })).toMatchObject({ code: 0 });
  expect(await left()).toEqual([]);
  await bench.pool.query('drop function slow cascade');
});

testOnPostgres('a partition that another table refers to is purged row by row', async () => {
  const { app, warnings } = await start({
    table: 'parted',
    queue: 'parted',
    layout: { partitionIds: 10 },
    purgeMaxAgeDays: 60,
  });
  await bench.pool.query(
    `insert into parted (processo, status, data_hora) select 'work', 'sucesso', now() - interval '100 days' from generate_series(1, 25)`,
  );
  await app.notify.run();
  const { rows } = await bench.pool.query<{ id: string }>('select min(id)::text as id from parted');
  const id = rows[0]?.id ?? '';
  await bench.pool.query(
    `create table invoices (task bigint constraint invoices_task references parted (id)); insert into invoices values (${id})`,
  );
  await app.purge.run();
  const { rows: kept } = await bench.pool.query('select id::text as id from parted');
  expect(kept).toEqual([{ id }]);
  expect(warnings).toContainEqual(expect.stringContaining('invoices_task'));
});
