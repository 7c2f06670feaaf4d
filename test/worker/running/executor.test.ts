import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TarefaError } from '../../../lib/errors.js';
import { QueueEvents } from '../../../lib/events.js';
import type { WorkerOptions } from '../../../lib/options/worker-options.js';
import type { AttemptOutcome, ClaimedTask } from '../../../lib/storage/attempt.js';
import type { AttemptStore } from '../../../lib/storage/attempts.js';
import type { QueueDatabase } from '../../../lib/storage/database.js';
import {
  GroupBroken,
  RingRefused,
  type GroupedTransaction,
  type TaskTransaction,
} from '../../../lib/storage/transactions.js';
import type { Handler, HandlerRules } from '../../../lib/subscribers/handler-registry.js';
import type { TaskContext } from '../../../lib/task.js';
import { Executor } from '../../../lib/worker/running/executor.js';
import type { RecordedReturn } from '../../../lib/worker/running/handler-context.js';
import type { RunningTask } from '../../../lib/worker/running/running-tasks.js';
import { deferred } from '../../support/waiting.js';
import { claimedOf } from '../dispatcher-bench.js';

const lostConnection = new TarefaError('CONNECTION_LOST', 'the connection was lost');

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => vi.useRealTimers());

interface Bench {
  readonly rules?: Partial<HandlerRules>;
  readonly outcomes?: readonly (AttemptOutcome | Error)[];
  readonly transaction?: Partial<TaskTransaction>;
  readonly parts?: readonly Partial<GroupedTransaction>[];
  readonly invoke?: (payload: unknown, context: TaskContext) => unknown;
  readonly dead?: boolean;
}

/** An executor over a database that the test plays, and what it told the settler. */
function bench(given: Bench = {}) {
  const told: unknown[] = [];
  const tell =
    (name: string) =>
    (claimed: ClaimedTask, detail?: unknown): void => {
      told.push(detail === undefined ? name : [name, detail]);
    };
  const settler = {
    complete: tell('complete'),
    completed: (_: ClaimedTask, { message }: RecordedReturn) => void told.push(['completed', message]),
    fail: (claimed: ClaimedTask, { error, next }: { error: unknown; next: unknown }) => {
      told.push(['fail', (error as Error).message, (next as { kind: string }).kind]);
    },
    lose: tell('lose'),
    leave: tell('leave'),
  };
  const outcomes = [...(given.outcomes ?? [])];
  const parts = [...(given.parts ?? [])];
  const transaction = (own: Partial<TaskTransaction> = {}): TaskTransaction => ({
    opened: true,
    query: async () => ({ rows: [], rowCount: 0 }),
    client: async () => undefined,
    complete: async () => undefined,
    rollback: async () => void told.push('rollback'),
    destroy: (reason) => void told.push(['destroy', reason.message]),
    ...own,
  });
  const attempts = {
    loadPayload: vi.fn<AttemptStore['loadPayload']>(async () => '{"loaded":true}'),
    readOutcome: vi.fn<() => Promise<AttemptOutcome>>(async () => {
      const next = outcomes.shift();
      if (next instanceof Error) throw next;
      return next ?? 'held';
    }),
    releaseMany: vi.fn<AttemptStore['releaseMany']>(async (_worker, claims) => claims.map(({ id }) => id)),
  };
  const database = {
    attempts,
    transactions: {
      begin: (_worker: string, _opened: unknown, quiet?: boolean) => {
        if (quiet) told.push('quietly');
        return transaction(given.transaction);
      },
      beginGroup: () => ({
        broken: false,
        most: 50,
        next: () => ({
          ...transaction(given.transaction),
          over: Promise.resolve(),
          disturbed: false,
          ...parts.shift(),
        }),
        commit: async () => undefined,
      }),
      completeIn: async () => undefined,
    },
  } as unknown as QueueDatabase;
  const rules = { payload: 'json', grouped: false, ...given.rules } as HandlerRules;
  const handler: Handler = { name: 'Orders.pay', rules, invoke: given.invoke ?? (() => undefined) };
  const registry = { of: () => ({ live: given.dead ? undefined : handler, dead: undefined }) };
  const events = new QueueEvents();
  events.on('task.released', ({ reason }) => told.push(['released', reason]));
  const options = { maxAttempts: 3, maxPayloadBytes: 100, retryIntervalMinutes: 1 } as WorkerOptions;
  const tenants = { open: () => Promise.reject(new Error('nobody asks for it')) };
  const bell = { ring: async () => undefined };
  const executor = new Executor('7', { database, bell, settler, registry, tenants, options, events });
  const running = (more?: Partial<ClaimedTask>): RunningTask => ({
    claimed: claimedOf('t:a', { payload: '{"n":1}', ...more }),
    context: undefined,
    isReplaced: false,
  });
  return { executor, told, attempts, events, running };
}

const useTransaction = async (_: unknown, { db }: TaskContext): Promise<void> => {
  await db.query('select 1');
};

test('a handler that returns is completed by the next statement, with its result', async () => {
  const { executor, told, running } = bench({ invoke: (payload) => ({ got: payload }) });
  await executor.run(running());
  expect(told).toEqual([['complete', { message: 'completed', result: '{"got":{"n":1}}' }]]);
});

test('a handler that throws fails by its own rules', async () => {
  const invoke = (): never => {
    throw new Error('no stock');
  };
  const { executor, told, running } = bench({ invoke, rules: { retryDelay: () => 5 } });
  await executor.run(running());
  expect(told).toEqual([['fail', 'no stock', 'after-failure']]);
});

test('work of a handler that throws is undone before its failure is recorded', async () => {
  const invoke = async (_: unknown, { db }: TaskContext): Promise<never> => {
    await db.query('insert');
    throw new Error('no stock');
  };
  const { executor, told, running } = bench({ invoke });
  await executor.run(running());
  expect(told).toEqual(['rollback', ['fail', 'no stock', 'after-due']]);
});

test('a handler that used its transaction completes by its commit', async () => {
  const { executor, told, running } = bench({ invoke: useTransaction });
  await executor.run(running());
  expect(told).toEqual([['completed', 'completed']]);
});

test.each([
  ['completed', ['completed', 'completed']],
  ['held', ['fail', 'the connection was lost', 'after-due']],
  ['lost', 'lose'],
  ['failed', 'lose'],
] as const)('a commit without an answer is looked up: %s', async (outcome, recorded) => {
  const transaction = { complete: () => Promise.reject(lostConnection) };
  const { executor, told, running } = bench({
    invoke: useTransaction,
    transaction,
    outcomes: [outcome],
  });
  await executor.run(running());
  expect(told).toEqual(['rollback', recorded]);
});

test('the database is asked until it answers', async () => {
  const transaction = { complete: () => Promise.reject(lostConnection) };
  const outcomes = [lostConnection, lostConnection, 'completed'] as const;
  const { executor, told, running, attempts } = bench({ invoke: useTransaction, transaction, outcomes });
  const ended = executor.run(running());
  await vi.runAllTimersAsync();
  await ended;
  expect(attempts.readOutcome).toHaveBeenCalledTimes(3);
  expect(told.at(-1)).toEqual(['completed', 'completed']);
});

test('a leaving worker leaves an unknown end to recovery', async () => {
  const transaction = { complete: () => Promise.reject(lostConnection) };
  const { executor, told, running } = bench({
    invoke: useTransaction,
    transaction,
    outcomes: [lostConnection],
  });
  executor.stop();
  await executor.run(running());
  expect(told).toEqual(['rollback', 'leave']);
});

test.each([
  ['lost', 'lose'],
  ['held', ['fail', expect.stringContaining('but its own transaction') as string, 'after-due']],
] as const)('a completion that did not find its row is looked up, too: %s', async (outcome, recorded) => {
  const transaction = { complete: () => Promise.reject(new TarefaError('TASK_LOST', 'not found')) };
  const { executor, told, running } = bench({ invoke: useTransaction, transaction, outcomes: [outcome] });
  await executor.run(running());
  expect(told).toEqual(['rollback', recorded]);
});

test('a transaction that the handler broke fails the attempt', async () => {
  const transaction = { complete: () => Promise.reject(new TarefaError('TRANSACTION_BROKEN', 'aborted')) };
  const { executor, told, running } = bench({ invoke: useTransaction, transaction });
  await executor.run(running());
  expect(told).toEqual(['rollback', ['fail', 'aborted', 'after-due']]);
});

test('what only its notification kept from committing runs again without, as the same attempt', async () => {
  const complete = vi.fn<TaskTransaction['complete']>(async () => undefined);
  complete.mockRejectedValueOnce(new RingRefused('the queue of notifications is full'));
  const { executor, told, running } = bench({ invoke: useTransaction, transaction: { complete } });
  await executor.run(running());
  expect(told).toEqual(['rollback', 'quietly', ['completed', 'completed']]);
});

test('it does not run again when the attempt is not this worker’s any more', async () => {
  const complete = (): Promise<void> => Promise.reject(new RingRefused('the queue of notifications is full'));
  const { executor, told, running } = bench({
    invoke: useTransaction,
    transaction: { complete },
    outcomes: ['lost'],
  });
  await executor.run(running());
  expect(told).toEqual(['rollback', 'lose']);
});

test('a timeout fails the attempt at once, and the slot stays taken until the handler ends', async () => {
  const gate = deferred();
  const { executor, told, running } = bench({
    invoke: async () => gate.promise,
    rules: { timeoutMs: 1_000 },
  });
  let isFree = false;
  const ended = executor.run(running()).then(() => (isFree = true));
  await vi.advanceTimersByTimeAsync(1_000);
  const message = 'Orders.pay did not end within its timeoutMs (1000)';
  expect(told).toContainEqual(['destroy', message]);
  expect(told.at(-1)).toEqual(['fail', message, 'after-due']);
  expect(isFree).toBe(false);
  gate.resolve();
  await ended;
});

const elsewhere = (_: unknown, context: TaskContext) =>
  context.completeIn({ query: async () => ({ rows: [] }) }, 'sent');

test.each([
  ['completed', ['completed', 'sent']],
  ['lost', 'lose'],
  [
    'held',
    ['fail', 'the transaction given to ctx.completeIn was not committed when the handler ended', 'after-due'],
  ],
] as const)(
  "a task completed in the handler's own transaction is what the table says: %s",
  async (outcome, recorded) => {
    const { executor, told, running } = bench({ invoke: elsewhere, outcomes: [outcome] });
    await executor.run(running());
    expect(told).toEqual([recorded]);
  },
);

test('what a handler throws after ctx.completeIn is its failure only when that did not commit', async () => {
  const invoke = async (payload: unknown, context: TaskContext): Promise<never> => {
    await elsewhere(payload, context);
    throw new Error('after the commit');
  };
  const committed = bench({ invoke, outcomes: ['completed'] });
  await committed.executor.run(committed.running());
  expect(committed.told).toEqual([['completed', 'sent']]);
  const open = bench({ invoke, outcomes: ['held'] });
  await open.executor.run(open.running());
  expect(open.told).toEqual([['fail', 'after the commit', 'after-due']]);
});

test('an attempt whose group failed by another task runs once more, alone', async () => {
  const runs: string[] = [];
  const invoke = async (_: unknown, { db }: TaskContext) => {
    runs.push('run');
    await db.query('select 1');
  };
  const broken = { complete: () => Promise.reject(new GroupBroken('another task broke it')) };
  const { executor, told, running } = bench({
    invoke,
    rules: { grouped: true },
    parts: [broken],
    outcomes: ['held'],
  });
  await executor.run(running());
  expect(runs).toHaveLength(2);
  expect(told).toEqual(['rollback', ['completed', 'completed']]);
});

test('an attempt whose group committed its work without it is only completed', async () => {
  const broken = { complete: () => Promise.reject(new GroupBroken('its COMMIT', { kept: true })) };
  const { executor, told, running } = bench({
    invoke: useTransaction,
    rules: { grouped: true },
    parts: [broken],
  });
  await executor.run(running());
  expect(told).toEqual(['rollback', ['complete', { message: 'completed', result: null }]]);
});

test('an attempt told to stop before its group takes it is given back', async () => {
  const gate = deferred();
  const first = { over: gate.promise };
  const { executor, told, running, attempts } = bench({
    invoke: () => gate.promise,
    rules: { grouped: true },
    parts: [first],
  });
  const [before, waiting] = [running(), running()];
  const runs = Promise.all([executor.run(before), executor.run(waiting)]);
  await vi.waitFor(() => expect(waiting.context).toBeDefined());
  waiting.context?.abort(new Error('stop'));
  gate.resolve();
  await runs;
  expect(attempts.releaseMany).toHaveBeenCalledWith('7', [waiting.claimed]);
  expect(told).toContainEqual(['released', 'the worker could not start it']);
});

test('an attempt above the limit is not run, whatever its payload', async () => {
  const invoke = vi.fn<() => void>();
  const { executor, told, running, attempts } = bench({ invoke });
  const one = running({ payload: undefined });
  Object.assign(one.claimed.task, { attempt: 4 });
  await executor.run(one);
  expect(attempts.loadPayload).not.toHaveBeenCalled();
  expect(invoke).not.toHaveBeenCalled();
  expect(told).toEqual([['fail', 'attempt 4 is above maxAttempts (3): it was not run', expect.any(String)]]);
});

test('a payload above the limit is not loaded, and never tried again', async () => {
  const { executor, told, running, attempts } = bench();
  await executor.run(running({ payload: undefined, payloadBytes: 101 }));
  expect(attempts.loadPayload).not.toHaveBeenCalled();
  expect(told).toEqual([
    [
      'fail',
      'the payload has 101 bytes, more than maxPayloadBytes (100): it was neither loaded nor run',
      'never',
    ],
  ]);
});

test('a payload left out of the claim is loaded', async () => {
  const { executor, told, running } = bench({ invoke: (payload) => payload });
  await executor.run(running({ payload: undefined }));
  expect(told).toEqual([['complete', { message: 'completed', result: '{"loaded":true}' }]]);
});

test('a live task without a handler fails, a dead one is completed with a warning', async () => {
  const { executor, told, running, events } = bench({ dead: true });
  const warnings: string[] = [];
  events.on('warning', ({ message }) => warnings.push(message));
  await executor.run(running());
  const dead = running();
  Object.assign(dead.claimed.task, { dead: true, liveId: '5' });
  await executor.run(dead);
  const message = expect.stringMatching(/^manual intervention is needed/);
  expect(told).toEqual([
    ['fail', expect.stringMatching(/^not registered/), 'after-due'],
    ['complete', { message, result: null }],
  ]);
  expect(warnings).toEqual([expect.stringMatching(/^task 5: manual intervention/)]);
});
