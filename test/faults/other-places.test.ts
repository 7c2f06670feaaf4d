import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { runCli } from '../cli/support.js';
import { startProxy, type DatabaseProxy } from '../support/database-proxy.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { nextEvent, until } from '../support/waiting.js';
import { startCluster, type Cluster, type ClusterDatabase } from './kit/cluster.js';
import { cutConnections } from './kit/cut.js';
import { startFakeClock, type FakeClock } from './kit/fake-clock.js';
import { OneOfEach, runOneOfEach } from './kit/one-of-each.js';

let clock: FakeClock;
let cluster: Cluster;
let database: ClusterDatabase;
let proxy: DatabaseProxy;
let app: QueueApp | undefined;

class Handlers {
  @TaskHandler('work', { maxAttempts: 1 })
  work(): void {}
}

const recovery = { intervalMs: 100, confirmMs: 100, graceMs: 0 };

beforeAll(async () => {
  clock = await startFakeClock();
  cluster = await startCluster({ env: clock.env });
  database = await cluster.createDatabase();
  proxy = await startProxy(database);
});

afterEach(async () => {
  proxy.pass();
  await app?.close();
  app = undefined;
});

afterAll(async () => {
  await proxy.close();
  await cluster.stop();
  await clock.stop();
});

async function start(): Promise<QueueApp> {
  app = await startApp({ url: proxy.url }, { handlers: [Handlers], pollIntervalMs: 500, recovery });
  return app;
}

async function insert(origin = 'any'): Promise<string> {
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into tasks (processo, payload, origem) values ('work', '{}', $1) returning id::text`,
    [origin],
  );
  return rows[0]?.id ?? '';
}

/** Inserts a task and waits for it. */
async function runOne(): Promise<string> {
  const id = await insert();
  await until(async () => {
    const { rows } = await database.pool.query('select status from tasks where id = $1', [id]);
    return rows[0]?.status === 'sucesso';
  }, `task ${id} succeeds`);
  return id;
}

async function setClock(seconds: number): Promise<void> {
  await clock.set(seconds);
  await until(async () => {
    const { rows } = await database.pool.query<{ ms: number }>(
      'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
    );
    return Math.abs((rows[0]?.ms ?? 0) - Date.now() - seconds * 1_000) < 5_000;
  }, 'the server shows that time');
}

test.each([600, -600])(
  'a server whose clock is set by %s seconds while a worker is connected, and back: tasks run at once, nobody is taken for lost, and whoever is lost is recovered',
  async (seconds) => {
    const started = await start();
    const lost: string[] = [];
    started.events.on('task.recovered', ({ workerId }) => void lost.push(workerId));
    await runOne();
    for (const now of [seconds, 0]) {
      await setClock(now);
      await runOne();
      expect(lost).toEqual([]);
      const { rows } = await database.pool.query<{ id: string }>(
        `insert into tasks (processo, status, executor, reserva) values ('work', 'processando', 4711, 1) returning id::text`,
      );
      await until(async () => lost.length > 0, 'the row of a worker that is gone is recovered');
      expect(lost.splice(0)).toEqual(['4711']);
      await database.pool.query('delete from tasks where id = $1', [rows[0]?.id]);
    }
  },
  60_000,
);

test('a server that speaks another language is understood: its connections are lost and come back, and refusals are told apart', async () => {
  const started = await start();
  const fault = proxy.translate();
  await runOne();
  await cutConnections(database.pool);
  await runOne();
  await database.pool.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not this row'; end $$;
    create trigger refuse before update on tasks for each row
      when (new.status = 'processando' and new.origem = 'refused') execute function refuse()`);
  const warned = nextEvent(started.events, 'warning', ({ message }) => message.includes('ação inválida'));
  await insert('refused');
  await warned;
  await runOne();
  await database.pool.query('drop function refuse cascade');
  expect(fault.hits.messages).toBeGreaterThan(0);
});

/** How values are written and read, each as far from what is usual as can be. */
const formats = {
  datestyle: 'German, DMY',
  intervalstyle: 'sql_standard',
  timezone: 'Pacific/Kiritimati',
  bytea_output: 'escape',
  extra_float_digits: '-10',
  standard_conforming_strings: 'off',
  escape_string_warning: 'on',
  backslash_quote: 'off',
  array_nulls: 'off',
  transform_null_equals: 'on',
  xmloption: 'document',
  quote_all_identifiers: 'on',
  lc_messages: 'C.UTF-8',
  lc_monetary: 'C.UTF-8',
  lc_numeric: 'C.UTF-8',
  lc_time: 'C.UTF-8',
  client_encoding: 'LATIN1',
  client_min_messages: 'debug1',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  search_path: 'nowhere',
  check_function_bodies: 'off',
  'plpgsql.variable_conflict': 'use_variable',
} as const;

/** Who may set them, and how it is undone. */
const places = [
  ['server, which changes sessions that are open', 'alter system'],
  ['database', 'alter database shop'],
  ['role', 'alter role current_user'],
] as const;

test.each(places)(
  'formats of times, numbers, texts and names that are set for a %s while a worker runs change nothing',
  async (_, alter) => {
    const queue = 'public.tasks';
    const handlers = [OneOfEach];
    app = await startApp({ url: proxy.url }, { queue, handlers, pollIntervalMs: 500, recovery });
    await database.pool.query('delete from tasks');
    const name = decodeURIComponent(new URL(database.url).pathname.slice(1));
    const change = alter.replace('shop', `"${name}"`);
    try {
      for (const [setting, value] of Object.entries(formats)) {
        const to = setting === 'search_path' ? value : `'${value}'`;
        await database.pool.query(`${change} set ${setting} = ${to}`);
      }
      await database.pool.query('select pg_reload_conf()');
      await runOneOfEach(app);
      const restored = nextEvent(app.events, 'connection.restored');
      await cutConnections(database.pool);
      await restored;
      await runOneOfEach(app);
      const other = await startApp({ url: proxy.url }, { queue, handlers, pollIntervalMs: 500, recovery });
      await app.close();
      app = other;
      await runOneOfEach(app);
      const check = await runCli(['migrate', '--table', queue, '--check', '--url', database.url]);
      expect(check).toMatchObject({ code: 0, stderr: '' });
    } finally {
      await database.pool.query(`${change} reset all`);
      await database.pool.query('select pg_reload_conf()');
    }
  },
  60_000,
);
