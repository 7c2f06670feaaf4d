import type { ClientConfig } from 'pg';
import type { LeaseThread } from '../../../coordination/lease-protocol.js';
import { ownFile } from '../../../values/own-file.js';

/** Where a lease is renewed. */
export interface LeaseDatabase {
  readonly config: ClientConfig;
  /** Quoted name of the workers' table. */
  readonly workers: string;
  /** Quoted name of the queue's table. */
  readonly queue: string;
}

/** The thread that renews a worker's lease in PostgreSQL. */
export function leaseThread(database: LeaseDatabase): LeaseThread {
  return {
    module: ownFile('storage/postgres/connections/lease-thread.js', 'The lease of a worker'),
    database,
  };
}
