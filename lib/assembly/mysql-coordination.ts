import { LeaseLiveness } from '../coordination/lease/lease-liveness.js';
import type { ProcessGuard } from '../coordination/lease-protocol.js';
import type { Liveness } from '../coordination/liveness.js';
import { MysqlBell } from '../coordination/mysql/mysql-bell.js';
import { SessionLiveness } from '../coordination/session-liveness.js';
import type { HearingChanged, SessionUse } from '../coordination/session.js';
import { whyLease } from '../storage/mysql/connections/lease-detection.js';
import { leaseThread } from '../storage/mysql/connections/lease-orders.js';
import { namedConfig, type mysqlConfig } from '../storage/mysql/connections/mysql-config.js';
import type { Mysql2 } from '../storage/mysql/connections/mysql-package.js';
import type { OwnPool } from '../storage/mysql/connections/own-pool.js';
import type { SharedMysqlSessions } from '../storage/mysql/connections/shared-sessions.js';
import { Sleeper } from '../storage/mysql/connections/sleeper.js';
import { SleeperWaker } from '../storage/mysql/connections/sleeper-waker.js';
import type { DialectName } from '../storage/mysql/dialect.js';
import { sleeperPrefix } from '../storage/mysql/lock-name.js';
import type { QueueTables } from '../storage/mysql/identifiers.js';
import type { MysqlWorkers } from '../storage/mysql/mysql-workers.js';
import { leaseMs } from '../storage/workers.js';

/** As the driver takes it. */
type ConnectionConfig = ReturnType<typeof mysqlConfig>;

export interface MysqlCoordinationParts {
  readonly mysql: Mysql2;
  readonly config: ConnectionConfig;
  /** Of the application. */
  readonly sessions: SharedMysqlSessions;
  /** Equal for queues in the same database. */
  readonly sessionKey: string;
  readonly own: OwnPool;
  /** Default: MySQL's. */
  readonly dialect?: DialectName | undefined;
  /** Once they are known. */
  readonly tables: () => QueueTables;
  readonly workers: () => MysqlWorkers;
  /** False in a process that only produces, and where workers are to poll. */
  readonly listens: boolean;
  readonly graceMs: number;
  readonly warn: (message: string) => void;
}

/** How the processes of a queue in MySQL or MariaDB find each other. */
export class MysqlCoordination {
  readonly bell: MysqlBell;
  readonly #parts: MysqlCoordinationParts;
  readonly #uses: SessionUse[] = [];
  readonly #lease: string | undefined;

  /** Asks the server what its locks are worth. */
  static async open(parts: MysqlCoordinationParts): Promise<MysqlCoordination> {
    const lease =
      parts.dialect === 'singlestore'
        ? 'SingleStore, on which its dialect was never run, has no session locks'
        : await parts.own.use((run, { threadId }) => whyLease(run, threadId));
    return new MysqlCoordination(parts, lease);
  }

  private constructor(parts: MysqlCoordinationParts, lease: string | undefined) {
    this.#parts = parts;
    this.#lease = lease;
    this.bell = this.#makeBell();
  }

  /** Why workers hold a lease and poll; undefined where a session shows that they live, and can be woken. */
  get whyLease(): string | undefined {
    return this.#lease;
  }

  /** For one worker. */
  makeLiveness(): Liveness {
    const { config, sessions, sessionKey, tables, graceMs } = this.#parts;
    const workers = this.#parts.workers();
    if (this.#lease !== undefined) return this.makeLease();
    const use = sessions.use(sessionKey, namedConfig(config, 'session'));
    this.#uses.push(use);
    return new SessionLiveness(use, workers, tables().qualifiedName, graceMs);
  }

  /** For a worker whose session does not show that it lives. */
  makeLease(guard?: ProcessGuard): Liveness {
    const { config, tables, graceMs, dialect } = this.#parts;
    const { workers, queue } = tables();
    const thread = leaseThread({ config: namedConfig(config, 'lease'), workers, queue, dialect });
    return new LeaseLiveness(thread, this.#parts.workers(), graceMs, guard);
  }

  /** What to tell once of a worker that cannot be woken. */
  leaseWarning(pollIntervalMs: number): string | undefined {
    return (
      this.#lease &&
      `${this.#lease}: this worker polls for tasks every ${pollIntervalMs} ms and holds them with a lease of ${leaseMs / 1_000} s`
    );
  }

  /** Gives all sessions back. */
  async close(): Promise<void> {
    await Promise.all(this.#uses.splice(0).map((use) => use.close()));
  }

  #makeBell(): MysqlBell {
    const { mysql, config, own, tables, workers, listens, warn } = this.#parts;
    const prefix = (): string => sleeperPrefix(tables().qualifiedName);
    let sleeper: Sleeper | undefined;
    const refused = (error: unknown): void =>
      warn(
        `workers that connect as another user cannot be woken (${String(error)}): they find tasks at their next poll`,
      );
    const waker = new SleeperWaker(own, prefix, () => sleeper?.sessionId, refused);
    const sleep = (woken: () => void, changed: HearingChanged): Sleeper => {
      sleeper = new Sleeper({
        mysql,
        config: namedConfig(config, 'sleeper'),
        prefix: prefix(),
        interrupt: (id) => waker.interrupt(id),
        woken,
        changed,
      });
      return sleeper;
    };
    const isTrusted = this.#lease === undefined;
    return new MysqlBell(
      listens && isTrusted ? sleep : undefined,
      async (most) => (isTrusted ? waker.wake(most) : 0),
      () => workers().notices(),
    );
  }
}
