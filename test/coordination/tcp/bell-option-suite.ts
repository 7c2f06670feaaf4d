import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { tcp, TaskHandler } from '../../../lib/index.js';
import { readCall } from '../../../lib/coordination/tcp/calls.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../../support/queue-app.js';
import { deferred, nextEvent } from '../../support/waiting.js';
import { NsjSocket } from './nsj-socket.js';
import { startServer, type StartedServer } from './start-server.js';

/** A database of a test file. */
export interface BellDatabase {
  readonly url: string;
  /** The queue table with its schema or database. */
  readonly queue: string;
  /** Runs a statement. */
  readonly run: (sql: string) => Promise<unknown>;
  /** Inserts a task for which nothing rings. */
  readonly insertQuietly: (topic: string) => Promise<void>;
  readonly drop: () => Promise<void>;
}

/** What the option `bell` promises on every database. */
export function exerciseBellOption(open: () => Promise<BellDatabase>, timeoutMs?: number): void {
  let database: BellDatabase;

  beforeAll(async () => {
    database = await open();
    await (await startApp(database, { worker: false })).close();
  }, timeoutMs);
  afterAll(() => database?.drop());

  /** An application that is closed when the test ends, of which no worker looks by itself. */
  async function start(port: number, options: QueueAppOptions = {}): Promise<QueueApp> {
    const app = await startApp(database, { bell: tcp({ port }), pollIntervalMs: 0, ...options });
    onTestFinished(() => app.close());
    return app;
  }
  const serve = (ports = {}): Promise<StartedServer> => startServer({ queue: database.queue, ...ports });
  const ring = (message: object): string =>
    `ring(${JSON.stringify({ queue: database.queue, topic: 'tasks', message })})`;

  const isDeaf = ({ message }: { readonly message: string }): boolean =>
    message.startsWith('this worker cannot listen, and tries again: ');

  class Quick {
    @TaskHandler('quick')
    run(): void {}
  }

  test('a ring through the server starts what nothing else told of', async () => {
    const { server, locker } = await serve();
    const { events } = await start(server.lockPort, { handlers: [Quick] });
    const ended = nextEvent(events, 'task.completed');
    await database.insertQuietly('quick');
    expect(await (await locker()).call(ring({}))).toBe('True');
    expect((await ended).task.topic).toBe('quick');
  });

  test('with CLIENT_SERVER_MODE a worker is woken through the server that the variables name', async () => {
    // Not where it would be looked for by default.
    const { server } = await serve({ host: '127.0.0.2' });
    const variables = {
      CLIENT_SERVER_MODE: 'TRUE',
      SERVER_HOST: '127.0.0.2',
      LOCK_SERVICE_PORT: String(server.lockPort),
    };
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { events } = await start(server.lockPort, { handlers: [Quick], bell: undefined });
    const ended = nextEvent(events, 'task.completed');
    await database.insertQuietly('quick');
    const rings = await NsjSocket.open(server.lockPort, '127.0.0.2');
    expect(await rings.call(ring({}))).toBe('True');
    expect((await ended).task.topic).toBe('quick');
  });

  test('what a process inserts is rung through the server, with its route', async () => {
    const { server, locker, worker } = await serve();
    const [hears, waits] = [await locker(), await worker()];
    expect(await hears.call(`listen(${JSON.stringify(database.queue)})`)).toBe('True');
    expect(await waits.call('nothing')).toBe('False');
    const { queue } = await start(server.lockPort, { worker: false });
    const rung = async (insert: Promise<unknown>): Promise<unknown> => {
      await insert;
      const call = readCall(await hears.next());
      return call?.name === 'ring' ? call.ring : call;
    };
    const route = expect.stringContaining('rung');
    const about = { queue: database.queue, topic: 'tasks' };
    expect(await rung(queue.insertTask({ topic: 'rung', priority: 60 }))).toMatchObject({
      ...about,
      message: { route, highest: 60 },
    });
    expect(await rung(queue.insertTasks([{ topic: 'rung' }, { topic: 'rung' }]))).toMatchObject({
      ...about,
      message: { route, highest: 50 },
    });
    expect(await rung(queue.ring())).toMatchObject(about);
    // Workers of nsj-queue-lib are told, too.
    expect(await waits.next()).toBe('NOTIFY');
    await database.run(`delete from tasks where processo = 'rung'`);
  });

  test('a server that is restarted neither frees nor repeats what runs, and rings are heard again', async () => {
    const first = await serve();
    const { notifyPort, lockPort } = first.server;
    const [started, end] = [deferred(), deferred()];
    let runs = 0;
    class Held {
      @TaskHandler('held')
      async run(): Promise<void> {
        runs += 1;
        started.resolve();
        await end.promise;
      }
    }
    const recovery = { intervalMs: 20, confirmMs: 0, graceMs: 0 };
    const { events, queue } = await start(lockPort, { handlers: [Held, Quick], recovery });
    const lost: unknown[] = [];
    for (const name of ['task.lost', 'task.recovered'] as const) {
      events.on(name, (event) => lost.push(event));
    }
    const ended = nextEvent(events, 'task.completed', ({ task }) => task.topic === 'held');
    await queue.insertTask({ topic: 'held' });
    await started.promise;
    const deaf = nextEvent(events, 'warning', isDeaf);
    await first.server.close();
    expect((await deaf).message).toMatch(/: the connection to the server at .* was lost: /);
    const hears = nextEvent(events, 'notice', ({ message }) => message === 'this worker can listen again');
    const { locker } = await serve({ notifyPort, lockPort });
    await hears;
    const next = nextEvent(events, 'task.completed', ({ task }) => task.topic === 'quick');
    await database.insertQuietly('quick');
    expect(await (await locker()).call(ring({}))).toBe('True');
    await next;
    end.resolve();
    await ended;
    expect([runs, lost]).toEqual([1, []]);
  });

  test('a worker starts without its server, says so, and looks by itself', async () => {
    const { server } = await serve();
    const { lockPort } = server;
    await server.close();
    const { events, worker } = await start(lockPort, { handlers: [Quick], autoStart: false });
    const deaf = nextEvent(events, 'warning', isDeaf);
    const ended = nextEvent(events, 'task.completed');
    await database.insertQuietly('quick');
    await worker.start();
    expect((await deaf).message).toMatch(/ECONNREFUSED/);
    await ended;
  });
}
