import type { PoolClient } from 'pg';
import { TarefaError } from '../../../errors.js';
import type { TenantConnection } from '../../../tenants/tenant-connection.js';
import type { TenantAnswer } from '../../tenant-db.js';
import { messageOf, unavailable } from '../../../tenants/tenant-error.js';
import { deadlineIn } from '../../../timing/deadline.js';
import { isConnectionError } from '../connections/connection-config.js';
import { takeRelease } from '../connections/take-release.js';
import type { DoneStatements } from './done-table.js';
import { guardedClient } from './guarded-client.js';

/** What a session may have been left with. No prepared statements: the driver relies on its own. */
const resetSession = `-- name: reset a tenant's session
reset session authorization; reset all; close all; unlisten *; select pg_catalog.pg_advisory_unlock_all();
discard temp; discard sequences`;

/** How long a server may take for what is left to do when a handler has ended. */
const answerMs = 5_000;

const undefinedTable = '42P01';
/** Several processes may make the table at once: those that come second find it, or its name, taken. */
const made = new Set(['42P07', '23505']);

/** How a {@link PostgresTenantConnection} ends. */
export interface ConnectionEnd {
  /** The connection is back, or gone. */
  readonly ended: () => void;
  /** Ends what that backend is doing: its client is gone, which it would not notice. */
  readonly terminate: () => void;
}

/** {@link TenantConnection} to PostgreSQL. */
export class PostgresTenantConnection implements TenantConnection {
  readonly tenant: string;
  readonly #client: PoolClient;
  readonly #statements: DoneStatements;
  readonly #end: ConnectionEnd;
  /** There until the connection is given back. */
  #release: ((error?: Error) => void) | undefined;

  constructor(tenant: string, client: PoolClient, statements: DoneStatements, end: ConnectionEnd) {
    this.tenant = tenant;
    this.#client = client;
    this.#statements = statements;
    this.#end = end;
    this.#release = takeRelease(client);
  }

  get gone(): boolean {
    return this.#release === undefined;
  }

  get idle(): boolean {
    return this.#isReady && this.#client.getTransactionStatus() === 'I';
  }

  async query(text: string, values?: unknown[]): Promise<TenantAnswer & { readonly command: string }> {
    try {
      return await this.#client.query<Record<string, unknown>>(text, values);
    } catch (error) {
      throw this.#explain(error);
    }
  }

  async begin(): Promise<void> {
    await this.query('begin');
  }

  async beginOnce(): Promise<void> {
    await this.query('begin isolation level read committed');
  }

  async commit(): Promise<boolean> {
    const { command } = await this.query('commit');
    return command === 'COMMIT';
  }

  async rollback(): Promise<void> {
    await this.query('rollback');
  }

  async markDone(key: string, step: string): Promise<boolean> {
    try {
      const { rowCount } = await this.query(this.#statements.mark, [key, step]);
      return rowCount === 1;
    } catch (error) {
      if ((error as { code?: unknown }).code !== undefinedTable) throw error;
      throw new TarefaError(
        'SCHEMA_MISSING',
        `the database of tenant ${this.tenant} has no table for once(): create it with ` +
          `TenantDatabases.createDedupTable('${this.tenant}')`,
        { cause: error },
      );
    }
  }

  async createDoneTable(): Promise<void> {
    await this.query(this.#statements.create).catch((error: unknown) => {
      if (!made.has(String((error as { code?: unknown }).code))) throw error;
    });
  }

  async purgeDone(olderThanSeconds: number, limit: number): Promise<number> {
    const { rowCount } = await this.query(this.#statements.purge, [olderThanSeconds, limit]);
    return rowCount ?? 0;
  }

  client(hasEnded: () => boolean): PoolClient {
    return guardedClient(this.#client, hasEnded);
  }

  async settled(): Promise<boolean> {
    if (this.#isReady) return true;
    const { reached, cancel } = deadlineIn(answerMs);
    const answered = this.#client.query('').then(
      () => true,
      () => false,
    );
    try {
      return await Promise.race([answered, reached.then(() => false)]);
    } finally {
      cancel();
    }
  }

  async giveBack(): Promise<void> {
    if (!this.#release) return;
    if (!(await this.settled()) || !this.idle) {
      return this.destroy(new Error('a transaction was left open on it'));
    }
    const { reached, cancel } = deadlineIn(answerMs);
    const reset = this.#client.query(resetSession).then(
      () => this.#free(),
      (error: unknown) => this.destroy(error as Error),
    );
    await Promise.race([reset, reached]);
    cancel();
    this.destroy(new Error('no answer to the reset of its session'));
  }

  destroy(reason: Error): void {
    if (!this.#release) return;
    const isBusy = !this.#isReady;
    this.#free(reason);
    if (isBusy) this.#end.terminate();
  }

  /** A connection whose answer never came is of no use any more. */
  #explain(error: unknown): unknown {
    const isLate = error instanceof Error && error.message === 'Query read timeout';
    if (!isLate && !isConnectionError(error)) return error;
    this.destroy(error as Error);
    const reason = isLate ? 'no answer within tenantDatabases.queryTimeoutMs' : messageOf(error);
    return unavailable(`the database of tenant ${this.tenant} failed: ${reason}`, error);
  }

  /** Not in the type of the client, though public: false while answers are awaited. */
  get #isReady(): boolean {
    return (this.#client as { readonly readyForQuery?: boolean }).readyForQuery === true;
  }

  #free(error?: Error): void {
    const release = this.#release;
    this.#release = undefined;
    release?.(error);
    this.#end.ended();
  }
}
