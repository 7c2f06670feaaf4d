import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { RemoteBell } from '../../lib/coordination/remote-bell.js';
import type { Ring } from '../../lib/coordination/ring.js';
import { QueueAdmin, TaskHandler, type TaskContext } from '../../lib/index.js';
import { Arrivals } from '../support/arrivals.js';
import { holdTimers } from '../support/held-timers.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { bellOf, bellServers, type BellServer } from './brokers/bell-servers.js';
import { brokerStartMs } from './brokers/broker-process.js';

/** A database of a test file that wakes nobody, unless a bell does. */
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

/** How often a worker polls that nothing wakes, or that hears nothing. */
const pollMs = 1_000;

/** What the option `bell` promises on every database, through whatever carries the rings. */
export function exerciseBellOption(open: () => Promise<BellDatabase>): void {
  let database: BellDatabase;

  beforeAll(async () => {
    database = await open();
    await (await startApp(database, { worker: false })).close();
  }, brokerStartMs);
  afterAll(() => database?.drop());

  describe.each(Object.entries(bellServers))('through %s', (_, create) => {
    let server: BellServer;
    beforeAll(async () => (server = await create()), brokerStartMs);
    afterAll(() => server?.remove());

    /** An application that is closed when the test ends. */
    async function start(options: QueueAppOptions = {}): Promise<QueueApp> {
      const app = await startApp(database, { bell: server.option, pollIntervalMs: 0, ...options });
      onTestFinished(() => app.close());
      return app;
    }

    /** The bell of another process of the queue. */
    async function otherBell(): Promise<RemoteBell> {
      const bell = await bellOf(server, database.queue);
      onTestFinished(() => bell.close());
      return bell;
    }

    const isDeaf = ({ message }: { readonly message: string }): boolean =>
      message.startsWith('this worker cannot listen and is retrying: ');

    class Quick {
      @TaskHandler('quick')
      run(): void {}
    }

    test('a ring of another process starts what nothing else told of', async () => {
      holdTimers((ms) => ms === pollMs);
      const { events } = await start({ handlers: [Quick] });
      const ended = nextEvent(events, 'task.completed');
      await database.insertQuietly('quick');
      await (await otherBell()).ring('tasks', {});
      expect((await ended).task.topic).toBe('quick');
    });

    test('what a process inserts, and what an operator changes, is rung, with its route where it has one', async () => {
      const heard = new Arrivals<Ring>();
      await (await otherBell()).listen('tasks', (ring) => heard.add(ring));
      const { queue, app } = await start({ worker: false });
      const admin = app.get(QueueAdmin, { strict: false });
      async function rung<T>(work: Promise<T>): Promise<[Ring, T]> {
        const done = await work;
        return [await heard.next(), done];
      }
      const route = expect.stringContaining('rung');
      const [ring, id] = await rung(queue.insertTask({ topic: 'rung', priority: 60 }));
      expect(ring).toMatchObject({ route, highest: 60, halt: false, changed: false });
      const kept = { key: 'c', onConflict: 'return' } as const;
      const pending = { key: 'b', while: 'pending', onConflict: 'replace' } as const;
      const inserts = [
        () => queue.insertTasks([{ topic: 'rung' }, { topic: 'rung' }]),
        () => queue.insertTask({ topic: 'rung', unique: 'a' }),
        () => queue.insertTask({ topic: 'rung', unique: pending }),
        () => queue.insertTask({ topic: 'rung', unique: pending }),
        () => queue.insertTasks([{ topic: 'rung', unique: kept }, { topic: 'rung' }]),
      ];
      for (const insert of inserts)
        expect((await rung<unknown>(insert()))[0]).toMatchObject({ route, highest: 50 });
      expect((await rung(queue.ring()))[0]).toMatchObject({ route: undefined, changed: false });
      expect((await rung(admin.pause({ topic: 'rung' })))[0]).toMatchObject({ changed: true });
      expect((await rung(admin.resume({ topic: 'rung' })))[0]).toMatchObject({ changed: true });
      const [, later] = await rung(queue.insertTask({ topic: 'rung', delayMs: 3_600_000 }));
      expect((await rung(admin.runNow(later)))[0]).toMatchObject({ changed: false });
      expect((await rung(admin.bury(later)))[0]).toMatchObject({ changed: false });
      await database.run(`update tasks set status = 'falha' where id = ${id}`);
      expect((await rung(admin.retry(id)))[0]).toMatchObject({ changed: false });
      expect(heard.left).toBe(0);
      await database.run(`delete from tasks where processo = 'rung'`);
    });

    test('a task that runs in another process is cancelled at once', async () => {
      holdTimers((ms) => ms === pollMs);
      const started = deferred();
      class Long {
        @TaskHandler('long')
        async run(_payload: unknown, { signal }: TaskContext): Promise<void> {
          started.resolve();
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          signal.throwIfAborted();
        }
      }
      const { events } = await start({ handlers: [Long] });
      const { queue, app } = await start({ worker: false });
      const cancelled = nextEvent(events, 'task.cancelled');
      const id = await queue.insertTask({ topic: 'long' });
      await started.promise;
      await app.get(QueueAdmin, { strict: false }).cancel(id);
      expect((await cancelled).task.topic).toBe('long');
    });

    test('a server that is killed and comes back neither loses, frees nor repeats anything, and rings are heard again', async () => {
      const polls = holdTimers((ms) => ms === pollMs);
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
      const { events, queue } = await start({ handlers: [Held, Quick], recovery });
      const lost: unknown[] = [];
      for (const name of ['task.lost', 'task.recovered'] as const) {
        events.on(name, (event) => lost.push(event));
      }
      const lines: string[] = [];
      events.on('warning', ({ message }) => lines.push(message));
      const ended = nextEvent(events, 'task.completed', ({ task }) => task.topic === 'held');
      await queue.insertTask({ topic: 'held' });
      await started.promise;
      const deaf = nextEvent(events, 'warning', isDeaf);
      await server.kill();
      expect((await deaf).message).toMatch(/: the connection to .* was lost: /);
      const polled = nextEvent(events, 'task.completed', ({ task }) => task.topic === 'quick');
      let isFound = false;
      void polled.then(() => (isFound = true));
      await database.insertQuietly('quick');
      await until(async () => {
        if (!isFound && polls.waiting > 0) polls.ringFirst();
        return isFound;
      }, 'the task that a poll finds');
      const hears = nextEvent(events, 'notice', ({ message }) => message === 'this worker can listen again');
      await server.start();
      await hears;
      const next = nextEvent(events, 'task.completed', ({ task }) => task.topic === 'quick');
      await database.insertQuietly('quick');
      await (await otherBell()).ring('tasks', {});
      await next;
      end.resolve();
      await ended;
      expect([runs, lost, lines.filter((message) => isDeaf({ message })).length]).toEqual([1, [], 1]);
    });

    test('a process that only inserts says once that its rings are lost', async () => {
      await server.kill();
      onTestFinished(() => server.start());
      const { events, queue } = await start({ worker: false });
      const lines: string[] = [];
      const told = nextEvent(events, 'warning', ({ message }) => lines.push(message) > 0);
      await queue.insertTask({ topic: 'rung' });
      await told;
      await queue.ring();
      await queue.ring();
      expect(lines).toEqual([
        expect.stringMatching(
          /^rings of this process are lost, so workers find its tasks only when they poll: the connection to /,
        ),
      ]);
      await database.run(`delete from tasks where processo = 'rung'`);
    });

    test('a worker starts without its server, says so, and looks by itself', async () => {
      await server.kill();
      onTestFinished(() => server.start());
      const { events, worker } = await start({ handlers: [Quick], autoStart: false });
      const deaf = nextEvent(events, 'warning', isDeaf);
      const ended = nextEvent(events, 'task.completed');
      await database.insertQuietly('quick');
      await worker.start();
      expect((await deaf).message).toMatch(/ECONNREFUSED|CONNECTION_REFUSED|connection refused/i);
      await ended;
    });
  });
}
