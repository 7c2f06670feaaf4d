import type { QueueClient, SqlHandle } from '../../../../lib/index.js';

/** A connection of a program that uses the queue, but not its module. */
export interface QueueConnection extends SqlHandle {
  /** Inserts through this connection. */
  readonly queue: QueueClient;
  /** Gives it back. One on which anything failed is closed, which rolls back. */
  release(error?: Error): void;
}

/** Connections of such a program. None of their errors ends the process. */
export interface ClientPool {
  connect(): Promise<QueueConnection>;
  /** True of an error of the statement itself, which changed nothing; one that ends the connection may come after the commit. */
  isRefusal(error: unknown): boolean;
  end(): Promise<void>;
}

/** How a pool is opened. */
export interface ClientOptions {
  readonly url: string;
  readonly max: number;
  readonly connectMs: number;
  /** How long an answer may take. Default: for ever. */
  readonly answerMs?: number;
  /** As the server names its connections, where it does. */
  readonly name?: string;
}

/** An effect of a task. */
export interface Effect {
  readonly root: string;
  readonly attempt: number;
  readonly dead: boolean;
  readonly key: string | null;
  readonly worker: string;
}

/** The transaction in which an effect was written. */
export interface EffectTransaction {
  readonly backend: string;
  readonly xid: string;
  readonly app: string;
}

/** What programs of the workload do in one kind of database. */
export interface WorkGround {
  openClients(options: ClientOptions): ClientPool;
  writeEffect(db: SqlHandle, effect: Effect): Promise<EffectTransaction>;
}
