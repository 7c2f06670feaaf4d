import type { WorkerId } from '../attempt.js';
import type { TaskInserts } from '../inserts.js';
import type { ScheduleStore } from '../schedules.js';
import type { TaskGroup } from '../transactions.js';
import type { CopyPublications } from './attempt-ends.js';
import type { ClaimTransactionParts, ClaimWork } from './claims/claim-transaction.js';
import { MysqlAccess, type MysqlConnections } from './mysql-access.js';
import type { MysqlInserts } from './mysql-inserts.js';
import type { TransactionGuard } from './savepoint-guard.js';

/** What a server does in another way, because it lacks what MySQL and MariaDB have. What is not here is done as they do. */
export interface OtherWays {
  /** Without `skip locked`. */
  readonly Claim?: new (parts: ClaimTransactionParts) => ClaimWork;
  /** Without a trigger that schedules what users' own statements insert for later. */
  readonly scheduleFuture?: (access: MysqlAccess) => Promise<unknown>;
  /** Without expressions among inserted values, ids that rise by one, and unique keys. */
  readonly Inserts?: new (...parts: ConstructorParameters<typeof MysqlInserts>) => TaskInserts;
  /** Without a trigger that files what is inserted. */
  readonly Schedules?: new (access: MysqlAccess) => ScheduleStore;
  /** Without ids that rise with time. */
  readonly copyPublications?: CopyPublications;
  /** Without savepoints. */
  readonly guard?: (access: MysqlAccess) => TransactionGuard;
  readonly Group?: new (access: ServerAccess, workerId: WorkerId) => TaskGroup;
  /** Without named locks. */
  readonly runAlone?: <T>(
    access: MysqlAccess,
    name: string,
    work: () => Promise<T>,
  ) => Promise<T | undefined>;
}

/** {@link MysqlAccess} to a server, with its ways. */
export class ServerAccess extends MysqlAccess {
  readonly ways: OtherWays;

  constructor(connections: MysqlConnections, ways: OtherWays = {}) {
    super(connections);
    this.ways = ways;
  }
}
