import { expect, onTestFinished, test, vi } from 'vitest';
import { QueueAdmin, TaskHandler, type TaskContext } from '../../lib/index.js';
import { serveByCli, type Served } from '../cli/serve.js';
import { useDatabase } from '../support/database.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { NsjSocket } from '../coordination/tcp/nsj-socket.js';

const { pool, url } = await useDatabase();

/** Our server, on free ports or those of another, and the port of it where workers of nsj-queue-lib lock. */
async function serve({ notifyPort = 0, lockPort = 0 }: Partial<Served> = {}): Promise<
  Served & { readonly theirs: NsjSocket }
> {
  const server = await serveByCli({
    DATABASE_URL: url,
    QUEUE_TABLE: 'tasks',
    NOTIFY_SERVICE_PORT: String(notifyPort),
    LOCK_SERVICE_PORT: String(lockPort),
    CHECK_TASKS_INTERVAL: '0.05',
  });
  onTestFinished(() => void server.stop());
  const variables = {
    CLIENT_SERVER_MODE: 'TRUE',
    NOTIFY_SERVICE_PORT: String(server.notifyPort),
    LOCK_SERVICE_PORT: String(server.lockPort),
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  return { ...server, theirs: await NsjSocket.open(server.lockPort) };
}

/** A worker that shares it. */
async function share(options: QueueAppOptions): Promise<QueueApp> {
  const app = await startApp({ url }, { interop: 'nsj', ...options });
  onTestFinished(app.close);
  return app;
}

const insert = async (topics: readonly string[]): Promise<void> => {
  for (const topic of topics) await pool.query('insert into tasks (processo) values ($1)', [topic]);
};
const statuses = async (): Promise<Readonly<Record<string, string>>> => {
  const { rows } = await pool.query<{ processo: string; status: string }>(
    'select processo, status from tasks',
  );
  return Object.fromEntries(rows.map(({ processo, status }) => [processo, status]));
};
const idOf = async (topic: string): Promise<string> =>
  String((await pool.query<{ id: string }>('select id from tasks where processo = $1', [topic])).rows[0]?.id);

test('a task that the other kind has locked is left to it, and what runs here is locked for the other kind', async () => {
  const { theirs } = await serve();
  await insert(['one', 'two', 'three', 'long', 'theirs', 'short']);
  const [long, locked] = [await idOf('long'), await idOf('theirs')];
  const [started, end] = [deferred(), deferred()];
  class Ours {
    @TaskHandler()
    async run(_payload: unknown, { task }: TaskContext): Promise<void> {
      if (task.topic !== 'long') return;
      started.resolve();
      await end.promise;
    }
  }
  expect(await theirs.call(`try_lock(${locked})`)).toBe('True');
  await share({ handlers: [Ours] });
  await started.promise;
  expect(await theirs.call(`try_lock(${long})`)).toBe('False');
  // A worker that shares the server keeps nobody from locking what it does not run.
  expect(await theirs.call('try_lock(1000)')).toBe('True');
  await until(async () => (await statuses())['short'] === 'sucesso', 'the others to run');
  expect(await statuses()).toMatchObject({ long: 'processando', theirs: 'pendente' });
  end.resolve();
  await until(async () => (await theirs.call(`try_lock(${long})`)) === 'True', 'the lock to be given back');
  expect(await statuses()).toMatchObject({ long: 'sucesso', theirs: 'pendente' });
  await theirs.call(`release_lock(${locked})`);
  await until(async () => (await statuses())['theirs'] === 'sucesso', 'it to run here after all');
});

test('a server that is restarted gives nobody else the lock of a task that runs here', async () => {
  const server = await serve();
  await insert(['kept']);
  const kept = await idOf('kept');
  const [started, end] = [deferred(), deferred()];
  class Ours {
    @TaskHandler()
    async run(): Promise<void> {
      started.resolve();
      await end.promise;
    }
  }
  // All its slots are taken: nothing but the lost connection tells it to lock again.
  await share({ handlers: [Ours], concurrency: 1, waitNotifyIntervalSeconds: 600 });
  await started.promise;
  await server.stop();
  const { theirs } = await serve(server);
  const given: string[] = [];
  await until(async () => {
    given.push(await theirs.call(`try_lock(${kept})`));
    return (await theirs.call('try_lock(1000)')) === 'True';
  }, 'the server to give locks again');
  given.push(await theirs.call(`try_lock(${kept})`));
  expect(given).not.toContain('True');
  end.resolve();
  await until(async () => (await theirs.call(`try_lock(${kept})`)) === 'True', 'the lock to be given back');
});

test('who changes a scheduled task waits for the notify job of the other kind', async () => {
  const { theirs } = await serve();
  const { app, queue } = await share({ worker: false });
  const id = await queue.insertTask({ topic: 'later', delayMs: 600_000 });
  expect(await theirs.call('try_lock(3)')).toBe('True');
  let isMoved = false;
  const moved = app
    .get(QueueAdmin)
    .runNow(id)
    .then(() => (isMoved = true));
  for (let n = 0; n < 20; n += 1) await pool.query('select 1');
  expect(isMoved).toBe(false);
  await theirs.call('release_lock(3)');
  await moved;
  expect(await statuses()).toMatchObject({ later: 'pendente' });
});

test('what is due later starts in turn with the notify job of the other kind', async () => {
  const { theirs } = await serve();
  class Ours {
    @TaskHandler()
    run(): void {}
  }
  expect(await theirs.call('try_lock(3)')).toBe('True');
  const { queue, worker, events } = await share({ handlers: [Ours], autoStart: false });
  await queue.insertTask({ topic: 'due', delayMs: 100 });
  const isDue = "select 1 from tasks where processo = 'due' and status = 'agendada' and data_hora < now()";
  await until(async () => (await pool.query(isDue)).rows.length === 1, 'it to be due');
  await worker.start();
  await insert(['after']);
  await until(async () => (await statuses())['after'] === 'sucesso', 'what was inserted later to run');
  expect(await statuses()).toMatchObject({ due: 'agendada' });
  const warned = nextEvent(events, 'warning', ({ message }) => message.includes('lock 3'));
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 61_000);
  onTestFinished(() => void vi.restoreAllMocks());
  await warned;
  await theirs.call('release_lock(3)');
  await until(async () => (await statuses())['due'] === 'sucesso', 'it to run in its turn');
});
