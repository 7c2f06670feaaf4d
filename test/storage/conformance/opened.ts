import { encodeTask, type TaskInput } from '../../../lib/client/task-input.js';
import type {
  Claim,
  ClaimedTask,
  Completion,
  RetryTime,
  Route,
  WorkerId,
} from '../../../lib/storage/attempt.js';
import type { ClaimDemand, Claims } from '../../../lib/storage/claims.js';
import type { QueueDatabase } from '../../../lib/storage/database.js';
import { topicRoute } from '../../../lib/storage/route.js';
import type { SqlHandle } from '../../../lib/storage/sql-handle.js';
import type { TestAccess } from '../../../lib/storage/test-access.js';
import type { TaskRecord } from '../../../lib/task.js';

/** An empty database, and what else tests do to it. */
export interface OpenedDatabase {
  readonly database: QueueDatabase;
  readonly access: TestAccess;
  /** Runs work in a transaction of the application's own. */
  readonly inTransaction: <T>(work: (tx: SqlHandle) => Promise<T>) => Promise<T>;
  /** How many times {@link working} was run and kept. */
  readonly effects: () => Promise<number>;
  readonly pause: (route: Route) => Promise<void>;
  /**
   * Keeps the table from taking rows, by what is in it already, until the answer is called. For a table with one task of each topic.
   */
  readonly refuseInserts: () => Promise<() => Promise<void>>;
  /** Deletes one row, as nothing of the library does. */
  readonly erase: (id: string) => Promise<void>;
  /** Tells all workers to stop. */
  readonly halt: () => Promise<void>;
  /** As if the server's clock were set back: what workers and endpoints have stored lies that much later. */
  readonly setClockBack: (ms: number) => Promise<void>;
}

/** What workers and endpoints store of the server's clock. */
export const storedTimes = {
  workers: ['started_at', 'lease_until', 'missed_at'],
  webhooks: ['failing_since', 'last_success_at', 'open_until', 'probing_until'],
} as const;

/** Opens a database for one test. */
export type OpenDatabase = () => Promise<OpenedDatabase>;

/** A statement of a handler that has an effect, and one that fails. */
export const [working, failing] = ['insert into effect (n) values (1)', 'insert into nowhere values (1)'];

/** A registered worker. */
export interface TestWorker {
  readonly id: WorkerId;
  readonly claims: Claims;
}

/** @param deadRoutes routes of which it handles dead attempts */
export async function register(
  database: QueueDatabase,
  { routes = [], deadRoutes = [] }: { readonly routes?: Route[]; readonly deadRoutes?: Route[] } = {},
): Promise<TestWorker> {
  const description = { host: 'test', pid: 1, version: '0', concurrency: 1, routes, deadRoutes };
  const id = await database.workers.register(description);
  return { id, claims: database.claimsOf(id, { concurrency: 1, warn: () => undefined }) };
}

export async function insert(
  { inserts }: QueueDatabase,
  input: TaskInput = {},
  publication = false,
): Promise<string> {
  return inserts.insert(encodeTask({ topic: 'a', ...input }, publication, 1_000_000));
}

/** A demand for these topics. */
export function demandFor(
  topics: readonly string[],
  { total = 100, order = 'age' }: Partial<Omit<ClaimDemand, 'routes'>> = {},
): ClaimDemand {
  return { routes: topics.map((topic) => ({ route: topicRoute(topic), limit: 100 })), total, order };
}

/** Claims everything that is due on these routes. */
export async function claimAll(
  { claims }: TestWorker,
  routes: readonly Route[] = [topicRoute('a')],
): Promise<readonly ClaimedTask[]> {
  // A test inserts by hand: nobody rings.
  claims.invalidate();
  const demand = {
    routes: routes.map((route) => ({ route, limit: 100 })),
    total: 100,
    order: 'age',
  } as const;
  return (await claims.settleAndClaim([], demand)).claimed;
}

/** Inserts a task and claims it. */
export async function claimNew(
  database: QueueDatabase,
  worker: TestWorker,
  input: TaskInput = {},
): Promise<ClaimedTask> {
  const id = await insert(database, input);
  const claimed = (await claimAll(worker, [topicRoute(input.topic ?? 'a')])).find((one) => one.id === id);
  if (!claimed) throw new Error(`task ${id} was not claimed`);
  return claimed;
}

export function completionOf({ id, reservation }: Claim, result: string | null = null): Completion {
  return { id, reservation, message: 'completed', result };
}

export async function complete({ claims }: TestWorker, ...completed: readonly Claim[]): Promise<void> {
  await claims.settleAndClaim(completed.map((claim) => completionOf(claim)));
}

/** Fails an attempt: for good, or with a next attempt. */
export async function endBadly(
  { attempts }: QueueDatabase,
  { id: workerId }: TestWorker,
  { id, reservation }: Claim,
  next?: RetryTime,
  message = 'bad',
): Promise<void> {
  const verdict = { next, nextLosses: 0, note: '' };
  await attempts.failMany([{ id, reservation, workerId, message, error: 'Error: bad', ...verdict }]);
}

/** The attempt as the table has it. */
export async function read(access: TestAccess, id: string): Promise<TaskRecord> {
  const found = (await access.attempts(id)).find((attempt) => attempt.id === id);
  if (!found) throw new Error(`attempt ${id} is gone`);
  return found;
}

export function idsOf(claims: readonly { readonly id: string }[]): readonly string[] {
  return claims.map(({ id }) => id);
}

/** Orders answers whose order is not promised. */
export function byText(one: unknown, other: unknown): number {
  return JSON.stringify(one).localeCompare(JSON.stringify(other));
}

/** A claim that does not hold the attempt, though it may name it. */
export interface WrongClaim {
  readonly name: string;
  readonly of: (
    claimed: Claim,
    holder: WorkerId,
    other: WorkerId,
  ) => { readonly claim: Claim; readonly workerId: WorkerId };
}

/** Claims that must change nothing. */
export const wrongClaims: readonly WrongClaim[] = [
  {
    name: 'another worker',
    of: ({ id, reservation }, _, workerId) => ({ claim: { id, reservation }, workerId }),
  },
  {
    name: 'an earlier claim of the same worker',
    of: ({ id, reservation }, workerId) => ({ claim: { id, reservation: reservation - 1 }, workerId }),
  },
  {
    name: 'a later claim of the same worker',
    of: ({ id, reservation }, workerId) => ({ claim: { id, reservation: reservation + 1 }, workerId }),
  },
  {
    name: 'an attempt that does not exist',
    of: (_, workerId) => ({ claim: { id: '999999', reservation: 1 }, workerId }),
  },
];
