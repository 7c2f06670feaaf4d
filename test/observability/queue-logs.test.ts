import { afterEach, expect, test, vi } from 'vitest';
import type { LoggerService } from '@nestjs/common';
import { TaskHandler, Subscriber } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { startApp, type QueueAppOptions } from '../support/queue-app.js';
import { nextEvent, until } from '../support/waiting.js';

const database = await useDatabase();
const secret = 'p4yl04d';
let tables = 0;

afterEach(() => void vi.unstubAllEnvs());

const hostile = `down\nERROR [Tarefa] forged\r\u001b[2J\u001b[31m ${'x'.repeat(1_000_000)}`;

class Handlers {
  @TaskHandler('greet')
  greet(): string {
    return 'hello';
  }

  @TaskHandler('hostile', { maxAttempts: 1 })
  hostile(): never {
    throw new Error(hostile);
  }

  /** As a driver or an HTTP client fails: with what it was given. */
  @TaskHandler('leaky', { maxAttempts: 2, retryDelayMs: 0 })
  leaky(payload: unknown): never {
    throw Object.assign(new Error('the request failed'), {
      config: { data: payload },
      detail: `(${secret})`,
    });
  }

  @TaskHandler('throws-payload', { maxAttempts: 1 })
  throwsPayload(payload: unknown): never {
    throw payload as Error;
  }

  @Subscriber('mail')
  mail(): string {
    return 'sent';
  }
}

interface Call {
  readonly level: string;
  readonly context: string;
  readonly message: Readonly<Record<string, unknown>>;
  readonly all: string;
}

/** Runs an application with a logger that keeps everything of the library's. */
async function start(options: QueueAppOptions = {}) {
  const calls: Call[] = [];
  const keep =
    (level: string) =>
    (message: unknown, ...rest: unknown[]): void => {
      const context = String(rest.at(-1));
      if (!context.startsWith('Tarefa')) return;
      const fields = message as Readonly<Record<string, unknown>>;
      calls.push({
        level,
        context,
        message: { ...fields },
        all: JSON.stringify([message, String(message), rest]),
      });
    };
  const logger: LoggerService = {
    log: keep('log'),
    warn: keep('warn'),
    error: keep('error'),
    debug: keep('debug'),
  };
  const table = `logs_${++tables}`;
  const app = await startApp(database, { queue: table, handlers: [Handlers], logger, ...options });
  const of = (event: string): readonly Call[] => calls.filter(({ message }) => message['event'] === event);
  return { ...app, table, calls, of };
}

test('each line has its queue, its event and its component, in a context of the component', async () => {
  const { events, queue, calls, of, table, worker, close } = await start({ logDebug: true });
  await database.pool.query(`insert into ${table}_subscriber (id, processo) values ('mail', 'placed')`);
  const delivered = nextEvent(events, 'task.completed', ({ task }) => task.subscriptionId === 'mail');
  await queue.insertTaskPubSub({ topic: 'placed' });
  await delivered;
  const failed = nextEvent(events, 'task.buried');
  const id = await queue.insertTask({ topic: 'leaky' });
  await failed;
  await close();

  expect(new Set(calls.map(({ context }) => context))).toEqual(
    new Set([`Tarefa:${table}`, `Tarefa:${table} worker`, `Tarefa:${table} tasks`]),
  );
  for (const { context, message } of calls) {
    const component = message['component'] === 'queue' ? '' : ` ${String(message['component'])}`;
    expect(context).toBe(`Tarefa:${table}${component}`);
    expect(message).toMatchObject({ queue: table, event: expect.any(String), msg: expect.any(String) });
  }
  expect(of('worker.started')).toMatchObject([
    { level: 'log', message: { workerId: expect.stringMatching(/^\d+$/), component: 'worker' } },
  ]);
  const workerId = of('worker.started')[0]?.message['workerId'];
  const task = { taskId: id, topic: 'leaky', workerId, component: 'tasks' };
  expect(of('task.failed').filter(({ level }) => level === 'warn')).toMatchObject([
    {
      message: {
        ...task,
        attemptId: id,
        attempt: 1,
        error: 'the request failed',
        nextAttemptInMs: 0,
        durationMs: expect.any(Number),
      },
    },
    { message: { ...task, attempt: 2, error: 'the request failed' } },
  ]);
  expect(of('task.failed').at(-1)?.message).not.toHaveProperty('nextAttemptInMs');
  expect(of('task.buried')).toMatchObject([
    { level: 'error', message: { ...task, deadTaskId: expect.any(String) } },
  ]);
  expect(of('task.completed').map(({ message }) => message['subscriptionId'])).toContain('mail');
  expect(of('publication.delivered')).toMatchObject([{ message: { deliveries: 1 } }]);
  expect(of('worker.stopped')).toMatchObject([{ message: { workerId, unfinished: 0 } }]);
  expect(worker.running).toBe(0);
});

test('where several workers run, a line names only the one that it is about', async () => {
  const { events, queue, calls, of, close } = await start({ webhooks: true });
  const failed = nextEvent(events, 'task.buried');
  await queue.insertTask({ topic: 'hostile' });
  await failed;
  await close();
  const workers = of('worker.started').map(({ message }) => message['workerId']);
  expect(new Set(workers).size).toBe(2);
  expect(of('worker.stopped').map(({ message }) => message['workerId'])).toHaveLength(2);
  expect(of('task.buried')[0]?.message).not.toHaveProperty('workerId');
  const named = calls.map(({ message }) => message['workerId'] ?? workers[0]);
  expect(workers).toEqual(expect.arrayContaining(named));
});

test.each([
  ['the option', { logDebug: true }, undefined, true],
  ['LOG_DEBUG', {}, 'TRUE', true],
  ['the option before LOG_DEBUG', { logDebug: false }, 'TRUE', false],
  ['nothing', {}, undefined, false],
] as const)('%s decides whether every task is logged', async (_, options, variable, logged) => {
  if (variable !== undefined) vi.stubEnv('LOG_DEBUG', variable);
  const { events, queue, calls, of, close } = await start(options);
  // Nobody makes an event of what nobody wants to know.
  expect(events.has('task.claimed')).toBe(logged);
  expect(events.has('task.completed')).toBe(logged);
  const completed = nextEvent(events, 'task.completed');
  const buried = nextEvent(events, 'task.buried');
  const id = await queue.insertTask({ topic: 'greet' });
  await queue.insertTask({ topic: 'hostile' });
  await Promise.all([completed, buried]);
  await close();
  expect(calls.some(({ level }) => level === 'debug')).toBe(logged);
  const { taskId, result, durationMs } =
    of('task.completed').find(({ message }) => message['taskId'] === id)?.message ?? {};
  expect([taskId, result, typeof durationMs]).toEqual(
    logged ? [id, 'hello', 'number'] : [undefined, undefined, 'undefined'],
  );
});

test('an error cannot forge a line, command a terminal or flood the log', async () => {
  const { events, queue, calls, close } = await start({ logDebug: true });
  const buried = nextEvent(events, 'task.buried');
  await queue.insertTask({ topic: 'hostile' });
  await buried;
  await close();
  const forged = calls.filter(({ all }) => all.includes('forged'));
  expect(forged.length).toBeGreaterThan(1);
  for (const { message, all } of calls) {
    // Frames are lines of their own.
    const { stack = '    at x', ...rest } = message as Readonly<Record<string, string>>;
    for (const value of Object.values(rest).map(String)) expect(value).not.toMatch(/\p{Cc}/u);
    expect(stack.split('\n').filter((line) => !line.startsWith('    at '))).toEqual([]);
    expect(all.length).toBeLessThan(20_000);
  }
  expect(forged[0]?.message['error']).toMatch(/^down\\nERROR \[Tarefa\] forged\\r\\x1b\[2J\\x1b\[31m x+/);
});

test('no payload stands in any line, whatever handlers do with it', async () => {
  const { events, queue, calls, close } = await start({ logDebug: true, unknownTasks: 'fail' });
  const gaveUp = (topic: string) => nextEvent(events, 'task.buried', ({ task }) => task.topic === topic);
  const ended = [
    gaveUp('leaky'),
    gaveUp('throws-payload'),
    nextEvent(events, 'task.failed', ({ task }) => task.topic === 'unknown'),
  ];
  const completed = nextEvent(events, 'task.completed', ({ task }) => task.topic === 'greet');
  const payload = { card: secret };
  await queue.insertTask({ topic: 'leaky', payload });
  await queue.insertTask({ topic: 'throws-payload', payload });
  await queue.insertTask({ topic: 'unknown', payload, externalKey: secret });
  await queue.insertTask({ topic: 'greet', payload });
  await queue.insertTaskPubSub({ topic: 'nobody', payload });
  await Promise.all([completed, ...ended]);
  await close();
  expect(calls.length).toBeGreaterThan(10);
  expect(calls.filter(({ all }) => all.includes(secret))).toEqual([]);
  expect(calls.some(({ all }) => all.includes('a non-Error value was thrown'))).toBe(true);
});

test("topics and subscriptions are anybody's text, too", async () => {
  const { events, table, calls, close } = await start({ logDebug: true, unknownTasks: 'fail' });
  const failed = nextEvent(events, 'task.failed');
  await database.pool.query(`insert into ${table} (processo) values (E'send\\nLOG [Nest] forged\\u001b[2J')`);
  await failed;
  await close();
  const lines = calls.filter(({ all }) => all.includes('forged'));
  expect(lines.length).toBeGreaterThan(0);
  for (const { message } of lines) {
    expect(String(message['topic'])).toBe('send\\nLOG [Nest] forged\\x1b[2J');
    expect(String(message['msg'])).not.toMatch(/\p{Cc}/u);
  }
});

test('the handlers of a queue are listed in its context', async () => {
  const { calls, table, close } = await start();
  await close();
  expect(
    calls
      .filter(({ message }) => String(message['msg']).includes('handles'))
      .map(({ context, message }) => [context, message['msg']]),
  ).toEqual([
    [
      `Tarefa:${table}`,
      expect.stringMatching(/^Handlers\.greet handles task 'greet'; .* handles subscriber 'mail'$/),
    ],
  ]);
});

test('a worker says what CLIENT_SERVER_MODE does not mean', async () => {
  const warned = async (options: QueueAppOptions): Promise<unknown[]> => {
    const { calls, close } = await start(options);
    await close();
    const texts = calls.filter(({ level }) => level === 'warn').map(({ message }) => message['msg']);
    return texts.filter((text) => String(text).includes('CLIENT_SERVER_MODE'));
  };
  vi.stubEnv('CLIENT_SERVER_MODE', ' true ');
  expect(await warned({ wake: 'poll' })).toEqual([
    expect.stringMatching(
      /^CLIENT_SERVER_MODE is TRUE, but without interop: 'nsj' this worker keeps its locks in the database/,
    ),
  ]);
  expect(await warned({ worker: false })).toEqual([]);
  vi.stubEnv('CLIENT_SERVER_MODE', 'False');
  expect(await warned({})).toEqual([]);
});

test('publications that reach nobody are told once per topic and minute, with their number', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const { events, table, of, close } = await start({ handlers: [] });
  let ended = 0;
  events.on('publication.discarded', () => (ended += 1));
  const publish = async (topic: string, times: number): Promise<void> => {
    const before = ended;
    await database.pool.query(
      `insert into ${table} (processo, pub_sub) select $1, true from generate_series(1, $2::int)`,
      [topic, times],
    );
    await until(async () => ended === before + times, 'all have ended');
  };
  const texts = (): unknown[] =>
    of('publication.discarded').map(({ level, message }) => [level, message['msg']]);
  await publish('lost', 3);
  await publish('gone', 1);
  expect(texts()).toEqual([
    ['warn', expect.stringContaining("1 publication of topic 'lost' reached nobody")],
    ['warn', expect.stringContaining("1 publication of topic 'gone' reached nobody")],
  ]);
  // The minute is over.
  const ends = timers.mock.calls.filter(([, ms]) => ms === 60_000).map(([end]) => end);
  for (const end of ends) end();
  expect(texts().slice(2)).toEqual([
    [
      'warn',
      expect.stringMatching(/^2 publications of topic 'lost' .*@Subscriber\('…', \{ topic: 'lost' \}\)/),
    ],
  ]);
  await publish('lost', 1);
  expect(texts()).toHaveLength(3);
  // What was counted is told before the end.
  await close();
  expect(texts()).toHaveLength(4);
});
