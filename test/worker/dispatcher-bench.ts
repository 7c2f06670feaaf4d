import { afterEach, beforeEach, vi } from 'vitest';
import { QueueEvents } from '../../lib/events.js';
import type { ClaimedTask, Completion, FailureOutcome, Route } from '../../lib/storage/attempt.js';
import type { AttemptStore } from '../../lib/storage/attempts.js';
import {
  onlySettled,
  type ClaimDemand,
  type Claims,
  type SettleAndClaimResult,
} from '../../lib/storage/claims.js';
import type { ErrorKind } from '../../lib/storage/error-kind.js';
import { HandlerRegistry, type HandlerRules } from '../../lib/subscribers/handler-registry.js';
import { Signal } from '../../lib/timing/signal.js';
import { Capacity, ServedRoutes } from '../../lib/worker/claiming/routes.js';
import { Dispatcher } from '../../lib/worker/dispatcher.js';
import type { RunningTask } from '../../lib/worker/running/running-tasks.js';
import { Settler } from '../../lib/worker/running/settler.js';
import { Outage } from '../../lib/worker/standstill.js';
import type { WorkerOptions } from '../../lib/options/worker-options.js';
import { Arrivals } from '../support/arrivals.js';
import { deferred } from '../support/waiting.js';

/** A statement that the dispatcher has sent: the test answers it. */
export interface SentStatement {
  readonly completions: readonly Completion[];
  readonly demand: ClaimDemand | undefined;
  readonly answer: (result?: Partial<SettleAndClaimResult>) => void;
  readonly fail: (error: unknown) => void;
}

/** An attempt that runs: the test ends it. */
export interface StartedTask {
  readonly claimed: ClaimedTask;
  readonly succeed: () => void;
  readonly fail: (error: Error) => void;
}

export interface DispatcherBenchOptions {
  readonly concurrency?: number;
  /** The one attempt that it runs, instead of claiming. */
  readonly only?: ClaimedTask;
  readonly order?: WorkerOptions['order'];
  /** Statements that the database wants under way. */
  readonly parallel?: number;
  readonly openAnother?: Claims['openAnother'];
  readonly handlers?: Readonly<Record<string, Partial<HandlerRules>>>;
  /** Topics of dead handlers. */
  readonly dead?: readonly string[];
  readonly attempts?: Partial<AttemptStore>;
  readonly classify?: (error: unknown) => ErrorKind;
}

const nothing = onlySettled(undefined);

const rules: HandlerRules = {
  concurrency: undefined,
  timeoutMs: undefined,
  maxAttempts: undefined,
  retryDelay: undefined,
  payload: 'json',
  grouped: false,
  lane: undefined,
  isolate: undefined,
};

let stops: (() => Promise<void>)[] = [];

/** For the tests of a file that start dispatchers: no timer rings unless a test lets time pass. */
export function useDispatchers(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  });
  afterEach(async () => {
    await Promise.all(stops.map((stop) => stop()));
    stops = [];
    vi.useRealTimers();
  });
}

/** A dispatcher over a database that the test plays. Stopped after the test. */
export function startDispatcher(options: DispatcherBenchOptions = {}) {
  const { concurrency = 2, parallel = 1, handlers = { a: {} }, dead = [] } = options;
  const statements = new Arrivals<SentStatement>();
  const started = new Arrivals<StartedTask>();
  const events = new QueueEvents();
  const signal = new Signal();
  const state = { alive: true, slotsAsked: 0, most: 0 };

  const claims = {
    parallel,
    openAnother: options.openAnother ?? (() => undefined),
    settleAndClaim: (completions: readonly Completion[], demand?: ClaimDemand) => {
      const answered = deferred<SettleAndClaimResult>();
      const total = demand?.total ?? 0;
      state.slotsAsked += total;
      state.most = Math.max(state.most, state.slotsAsked + dispatcher.running.size);
      const over = (): void => void (state.slotsAsked -= total);
      statements.add({
        completions,
        demand,
        answer: (result) => (over(), answered.resolve({ ...nothing, ...result })),
        fail: (error) => (over(), answered.reject(error)),
      });
      return answered.promise;
    },
    heard: vi.fn<Claims['heard']>(),
    invalidate: vi.fn<Claims['invalidate']>(),
    claimUnattended: vi.fn<Claims['claimUnattended']>(async () => []),
    wouldClaim: async () => (await attempts.routeHeads([], 1)).length > 0,
    endUnreadable: vi.fn<Claims['endUnreadable']>(async () => []),
    setApart: vi.fn<Claims['setApart']>(async () => false),
  };
  const attempts = {
    promote: async () => ({
      promoted: 0,
      earliestMs: undefined,
      nextDueInMs: undefined,
      isolated: false,
    }),
    pausedRoutes: async () => [],
    routeHeads: async (): ReturnType<AttemptStore['routeHeads']> => [],
    failMany: vi.fn<AttemptStore['failMany']>(async (failures) =>
      failures.map(({ id }): FailureOutcome => ({ id, nextAttemptInMs: undefined, deadId: undefined })),
    ),
    standing: async () => [],
    heldBy: vi.fn<AttemptStore['heldBy']>(async () => []),
    releaseMany: async () => [],
    ...options.attempts,
  };
  const database = {
    attempts,
    claimsOf: () => claims,
    classify: options.classify ?? ((): ErrorKind => 'other'),
  };
  const registry = new HandlerRegistry();
  const invoke = (): void => undefined;
  for (const [id, own] of Object.entries(handlers)) {
    registry.add({ kind: 'task', id }, { name: id, rules: { ...rules, ...own }, invoke });
  }
  for (const id of dead) registry.add({ kind: 'dead-task', id }, { name: id, rules, invoke });
  const workerOptions = {
    concurrency,
    order: options.order ?? 'age',
    unknownTasks: 'leave',
    pollIntervalMs: 0,
    scheduledTimer: true,
  } as WorkerOptions;
  const settler = new Settler('7', { database: database as never, events, signal });
  const failed = vi.fn<(claimed: ClaimedTask, error: unknown) => void>();
  const end = (claimed: ClaimedTask, error: Error): void =>
    settler.fail(claimed, { error, maxAttempts: 1, next: { kind: 'never' } });
  const executor = {
    run: ({ claimed }: RunningTask) => {
      const over = deferred();
      started.add({
        claimed,
        succeed: () => (settler.complete(claimed, { message: 'completed', result: null }), over.resolve()),
        fail: (error) => (end(claimed, error), over.resolve()),
      });
      return over.promise;
    },
    fail: (claimed: ClaimedTask, error: unknown) => {
      failed(claimed, error);
      end(claimed, error as Error);
    },
  };
  const deliver = vi.fn<(claimed: readonly ClaimedTask[]) => Promise<void>>(async () => undefined);
  const rings = vi.fn<() => Promise<void>>(async () => undefined);
  const served = new ServedRoutes(registry, workerOptions);
  const dispatcher: Dispatcher = new Dispatcher('7', {
    database: database as never,
    bell: { ring: rings },
    liveness: {
      get alive() {
        return state.alive;
      },
      exclusively: async (_, work) => work(),
    },
    executor,
    fanOut: { deliver },
    settler,
    halt: { ask: () => undefined, obey: () => undefined },
    outage: new Outage('7', events),
    hidden: { found: undefined },
    served,
    capacity: new Capacity(served, workerOptions),
    signal,
    options: workerOptions,
    events,
  });
  if (options.only) dispatcher.runOnly(options.only);
  else dispatcher.start();
  stops.push(async () => {
    dispatcher.stopClaiming();
    await dispatcher.finish(Promise.resolve());
  });
  const ring = (): void =>
    void dispatcher.heard({
      later: false,
      halt: false,
      changed: false,
      dueMs: 1_000,
      highest: 50,
      route: undefined,
    });
  return {
    dispatcher,
    claims,
    attempts,
    events,
    settler,
    statements,
    started,
    failed,
    deliver,
    rings,
    state,
    ring,
  };
}

let ids = 0;

/** An attempt as a claim brings it. */
export function claimedOf(route: Route = 't:a', more: Partial<ClaimedTask> = {}): ClaimedTask {
  const id = String((ids += 1));
  const topic = route.startsWith('t:') ? route.slice(2) : null;
  const task = {
    id,
    firstAttemptId: id,
    attempt: 1,
    topic,
    subscriptionId: null,
    dead: false,
    metadata: null,
  };
  return {
    id,
    reservation: 1,
    task: task as ClaimedTask['task'],
    route,
    publication: route === 'p',
    losses: 0,
    payloadBytes: null,
    payload: null,
    ...more,
  };
}

/** Lets everything happen that waits for nothing but the event loop. */
export async function settleDown(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets what is under way come to its timers, and these ring. */
export async function passTime(ms: number): Promise<void> {
  await settleDown();
  await vi.advanceTimersByTimeAsync(ms);
}
