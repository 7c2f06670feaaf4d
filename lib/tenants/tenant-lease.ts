import type { PoolClient } from 'pg';
import { processIdOf } from '../storage/postgres/connections/pooler.js';
import { takeRelease } from '../storage/postgres/connections/take-release.js';
import { deadlineIn } from '../timing/deadline.js';

/** What a session may have been left with. No prepared statements: the driver relies on its own. */
const resetSession = `-- name: reset a tenant's session
reset session authorization; reset all; close all; unlisten *; select pg_catalog.pg_advisory_unlock_all();
discard temp; discard sequences`;

/** How long a server may take for what is left to do when a handler has ended. */
const answerMs = 5_000;

/** What a {@link TenantLease} does with its connection in the end. */
export interface LeaseEnd {
  /** The connection is back, or gone. */
  readonly ended: () => void;
  /** Ends what that backend is doing: its client is gone, which it would not notice. */
  readonly terminate: (processId: number) => void;
}

/** One connection to a tenant's database, lent to one attempt. */
export class TenantLease {
  readonly client: PoolClient;
  readonly tenant: string;
  readonly #end: LeaseEnd;
  /** There until the connection is given back. */
  #release: ((error?: Error) => void) | undefined;

  constructor(tenant: string, client: PoolClient, end: LeaseEnd) {
    this.tenant = tenant;
    this.client = client;
    this.#end = end;
    this.#release = takeRelease(client);
  }

  /** True when the connection was given back or cut. */
  get gone(): boolean {
    return this.#release === undefined;
  }

  /** True when nothing is under way on it and no transaction is open. */
  get idle(): boolean {
    return this.#isReady && this.client.getTransactionStatus() === 'I';
  }

  /** Waits until the server has answered everything; false when that takes too long or the connection is gone. */
  async settled(): Promise<boolean> {
    if (this.#isReady) return true;
    const { reached, cancel } = deadlineIn(answerMs);
    const answered = this.client.query('').then(
      () => true,
      () => false,
    );
    try {
      return await Promise.race([answered, reached.then(() => false)]);
    } finally {
      cancel();
    }
  }

  /** Gives the connection back as it was lent, or closes it: an open transaction is never handed on. Never rejects. */
  async giveBack(): Promise<void> {
    if (!this.#release) return;
    if (!(await this.settled()) || !this.idle) {
      return this.destroy(new Error('a transaction was left open on it'));
    }
    const { reached, cancel } = deadlineIn(answerMs);
    const reset = this.client.query(resetSession).then(
      () => this.#free(),
      (error: unknown) => this.destroy(error as Error),
    );
    await Promise.race([reset, reached]);
    cancel();
    this.destroy(new Error('no answer to the reset of its session'));
  }

  /** Closes the connection, whatever it is doing; the server then rolls back. Idempotent. */
  destroy(reason: Error): void {
    if (!this.#release) return;
    const isBusy = !this.#isReady;
    const processId = processIdOf(this.client);
    this.#free(reason);
    if (isBusy && processId !== null) this.#end.terminate(processId);
  }

  /** Not in the type of the client, though public: false while answers are awaited. */
  get #isReady(): boolean {
    return (this.client as { readonly readyForQuery?: boolean }).readyForQuery === true;
  }

  #free(error?: Error): void {
    const release = this.#release;
    this.#release = undefined;
    release?.(error);
    this.#end.ended();
  }
}
