import { Worker } from 'node:worker_threads';
import type { ConnectionOptions } from 'mysql2';
import type { LeaseThread } from '../../../coordination/lease-protocol.js';
import { ownFile } from '../../../values/own-file.js';
import { TarefaError } from '../../../errors.js';
import type { DialectName } from '../dialect.js';

/** Where a lease is renewed. */
export interface LeaseDatabase {
  readonly config: ConnectionOptions;
  /** Quoted name of the workers' table. */
  readonly workers: string;
  /** Quoted name of the queue's table. */
  readonly queue: string;
  /** Default: MySQL's. */
  readonly dialect?: DialectName | undefined;
}

/** The thread that renews a worker's lease in MySQL or MariaDB. */
export function leaseThread(database: LeaseDatabase): LeaseThread {
  return { module: ownFile('storage/mysql/connections/lease-thread.js', 'The lease of a worker'), database };
}

/** Starts a thread that has a connection of its own. Only plain values reach a thread. */
export function openThread(module: URL, workerData: unknown): Worker {
  try {
    return new Worker(module, { workerData });
  } catch (cause) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      `a thread must show that this worker is alive, but the connection's configuration cannot be passed to it ` +
        `(${String(cause)}): leave functions out of it`,
      { cause },
    );
  }
}
