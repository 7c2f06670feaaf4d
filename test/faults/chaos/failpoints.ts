import { setTimeout as pause } from 'node:timers/promises';
import { SessionLiveness } from '../../../lib/coordination/session-liveness.js';
import { TarefaError } from '../../../lib/errors.js';
import { MysqlAdmin } from '../../../lib/storage/mysql/mysql-admin.js';
import { MysqlAttempts } from '../../../lib/storage/mysql/mysql-attempts.js';
import { MysqlClaims } from '../../../lib/storage/mysql/mysql-claims.js';
import { MysqlDatabase } from '../../../lib/storage/mysql/mysql-database.js';
import { MysqlEndpoints } from '../../../lib/storage/mysql/mysql-endpoints.js';
import { MysqlInserts } from '../../../lib/storage/mysql/mysql-inserts.js';
import { MysqlReports } from '../../../lib/storage/mysql/mysql-reports.js';
import { MysqlSchedules } from '../../../lib/storage/mysql/mysql-schedules.js';
import { MysqlSubscriptions } from '../../../lib/storage/mysql/mysql-subscriptions.js';
import { MysqlTransaction } from '../../../lib/storage/mysql/mysql-transaction.js';
import { MysqlTransactions } from '../../../lib/storage/mysql/mysql-transactions.js';
import { MysqlUpkeep } from '../../../lib/storage/mysql/mysql-upkeep.js';
import { MysqlWorkers } from '../../../lib/storage/mysql/mysql-workers.js';
import { PostgresAdmin } from '../../../lib/storage/postgres/postgres-admin.js';
import { PostgresAttempts } from '../../../lib/storage/postgres/postgres-attempts.js';
import { PostgresClaims } from '../../../lib/storage/postgres/postgres-claims.js';
import { PostgresDatabase } from '../../../lib/storage/postgres/postgres-database.js';
import { PostgresEndpoints } from '../../../lib/storage/postgres/postgres-endpoints.js';
import { PostgresInserts } from '../../../lib/storage/postgres/postgres-inserts.js';
import { PostgresInterop } from '../../../lib/storage/postgres/postgres-interop.js';
import { PostgresReports } from '../../../lib/storage/postgres/postgres-reports.js';
import { PostgresSchedules } from '../../../lib/storage/postgres/postgres-schedules.js';
import { PostgresSubscriptions } from '../../../lib/storage/postgres/postgres-subscriptions.js';
import { PostgresTransactions } from '../../../lib/storage/postgres/postgres-transactions.js';
import { PostgresUpkeep } from '../../../lib/storage/postgres/postgres-upkeep.js';
import { PostgresWorkers } from '../../../lib/storage/postgres/postgres-workers.js';
import { PostgresTransaction } from '../../../lib/storage/postgres/postgres-transaction.js';

/** Where in a call: before it is sent, sent but not answered, answered but nobody has acted on it. */
export const moments = ['before', 'sent', 'after'] as const;

/** What happens at a point: the process kills itself, the call fails as a lost connection does, or it hangs. */
export type PointAction = 'kill' | 'error' | 'pause';

/** A point that waits for its turn. */
export interface ArmedPoint {
  /** Such as `settleAndClaim:after` or `transaction.complete:sent`. */
  readonly point: string;
  /** Acts when it is passed for the n-th time from now on. Default 1. */
  readonly hit?: number;
  readonly action: PointAction;
  /** How long a pause lasts. */
  readonly pauseMs?: number;
  /** What must have happened before passes count: another armed point, by its name. */
  readonly afterPoint?: string;
}

/** The points of one process. */
export interface Failpoints {
  arm(point: ArmedPoint): void;
  disarm(): void;
}

interface Wrapped {
  readonly prefix: string;
  readonly prototype: object;
  readonly only?: readonly string[];
}

/** Storages whose calls have points. */
export type PointedStorage = 'postgres' | 'mysql';

const liveness: Wrapped = {
  prefix: 'liveness.',
  prototype: SessionLiveness.prototype,
  only: ['hold', 'findMissing'],
};

/** Of a database, by its name in `lib/storage`. */
const wrappedOf: Readonly<Record<PointedStorage, readonly Wrapped[]>> = {
  postgres: [
    { prefix: 'database.', prototype: PostgresDatabase.prototype },
    { prefix: 'inserts.', prototype: PostgresInserts.prototype },
    { prefix: 'attempts.', prototype: PostgresAttempts.prototype },
    { prefix: 'claims.', prototype: PostgresClaims.prototype },
    { prefix: 'transactions.', prototype: PostgresTransactions.prototype },
    { prefix: 'workers.', prototype: PostgresWorkers.prototype },
    { prefix: 'upkeep.', prototype: PostgresUpkeep.prototype },
    { prefix: 'admin.', prototype: PostgresAdmin.prototype },
    { prefix: 'reports.', prototype: PostgresReports.prototype },
    { prefix: 'subscriptions.', prototype: PostgresSubscriptions.prototype },
    { prefix: 'endpoints.', prototype: PostgresEndpoints.prototype },
    { prefix: 'schedules.', prototype: PostgresSchedules.prototype },
    { prefix: 'interop.', prototype: PostgresInterop.prototype },
    { prefix: 'transaction.', prototype: PostgresTransaction.prototype },
    liveness,
  ],
  mysql: [
    { prefix: 'database.', prototype: MysqlDatabase.prototype },
    { prefix: 'inserts.', prototype: MysqlInserts.prototype },
    { prefix: 'attempts.', prototype: MysqlAttempts.prototype },
    { prefix: 'claims.', prototype: MysqlClaims.prototype },
    { prefix: 'transactions.', prototype: MysqlTransactions.prototype },
    { prefix: 'workers.', prototype: MysqlWorkers.prototype },
    { prefix: 'upkeep.', prototype: MysqlUpkeep.prototype },
    { prefix: 'admin.', prototype: MysqlAdmin.prototype },
    { prefix: 'reports.', prototype: MysqlReports.prototype },
    { prefix: 'subscriptions.', prototype: MysqlSubscriptions.prototype },
    { prefix: 'endpoints.', prototype: MysqlEndpoints.prototype },
    { prefix: 'schedules.', prototype: MysqlSchedules.prototype },
    { prefix: 'transaction.', prototype: MysqlTransaction.prototype },
    liveness,
  ],
};

/** Names of everything that has points: found by looking, so that a new method has some from its first day. */
export function pointedMethods(storage: PointedStorage = 'postgres'): readonly string[] {
  return wrappedOf[storage].flatMap(({ prefix, prototype, only }) =>
    methodsOf(prototype)
      .filter((name) => only?.includes(name) ?? true)
      .map((name) => prefix + name),
  );
}

/**
 * Puts three points into every method of the database and its transactions. The library knows nothing of it.
 *
 * @param onHit told just before a point acts; what it writes must survive the process
 */
export function installFailpoints(storage: PointedStorage, onHit: (armed: ArmedPoint) => void): Failpoints {
  let armed: { readonly point: ArmedPoint; left: number }[] = [];
  const happened = new Set<string>();

  const take = (name: string): ArmedPoint | undefined => {
    if (armed.length === 0) return undefined;
    const passed = armed.filter(
      ({ point }) =>
        point.point === name && (point.afterPoint === undefined || happened.has(point.afterPoint)),
    );
    for (const one of passed) one.left -= 1;
    const due = passed.find(({ left }) => left <= 0);
    armed = armed.filter((one) => one !== due);
    return due?.point;
  };
  const isArmed = (label: string): boolean => armed.some(({ point }) => point.point.startsWith(`${label}:`));

  const act = async (point: ArmedPoint): Promise<void> => {
    happened.add(point.point);
    onHit(point);
    if (point.action === 'kill') process.kill(process.pid, 'SIGKILL');
    if (point.action === 'pause') await pause(point.pauseMs ?? 1_000);
    if (point.action === 'error') {
      throw new TarefaError('CONNECTION_LOST', `the connection was lost at the failpoint ${point.point}`);
    }
  };

  for (const { prefix, prototype, only } of wrappedOf[storage]) {
    for (const name of methodsOf(prototype)) {
      if (only && !only.includes(name)) continue;
      wrapMethod(prototype as Record<string, Method>, name, { label: prefix + name, isArmed, take, act });
    }
  }
  return {
    arm: (point) => armed.push({ point, left: point.hit ?? 1 }),
    disarm: () => (armed = []),
  };
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

interface Points {
  readonly label: string;
  readonly isArmed: (label: string) => boolean;
  readonly take: (name: string) => ArmedPoint | undefined;
  readonly act: (point: ArmedPoint) => Promise<void>;
}

function wrapMethod(prototype: Record<string, Method>, name: string, points: Points): void {
  const original = prototype[name];
  if (!original) return;
  const { label, isArmed, take, act } = points;
  /** What answers at once can be killed, but neither wait nor fail later. */
  let answersLater = false;

  const send = (self: unknown, args: unknown[]): unknown => {
    const answer = original.apply(self, args);
    if (!(answer instanceof Promise)) return answer;
    answersLater = true;
    if (!isArmed(label)) return answer;
    const sent = take(`${label}:sent`);
    const reached = sent ? nextTurn().then(() => act(sent)) : Promise.resolve();
    return ignored(
      reached
        .then(() => answer)
        .then(async (value) => {
          const after = take(`${label}:after`);
          if (after) await act(after);
          return value;
        }),
      answer,
    );
  };

  prototype[name] = function withPoints(this: unknown, ...args: unknown[]): unknown {
    const before = take(`${label}:before`);
    if (!before) return send(this, args);
    const acted = act(before);
    if (answersLater) return ignored(acted.then(() => send(this, args)));
    acted.catch(() => undefined);
    return send(this, args);
  };
}

/** A handler may forget to wait for a statement, which must not end the process here either. */
function ignored<T>(...promises: readonly [Promise<T>, ...Promise<unknown>[]]): Promise<T> {
  for (const promise of promises) promise.catch(() => undefined);
  return promises[0];
}

function methodsOf(prototype: object): readonly string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
    .map(([name]) => name);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
