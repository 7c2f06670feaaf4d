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
export function leaseThread({ config, ...tables }: LeaseDatabase): LeaseThread {
  const module = ownFile('storage/postgres/connections/lease-thread.js', 'The lease of a worker');
  const { password, ...others } = config;
  // Functions of a pool, and of how rows are read: renewals need neither.
  const plain = { ...others, ...unused };
  if (typeof password !== 'function')
    return { module, database: { config: { ...plain, password }, ...tables } };
  return { module, database: { config: plain, ...tables }, password: async () => password() };
}

const unused = {
  types: undefined,
  log: undefined,
  verify: undefined,
  onConnect: undefined,
  Promise: undefined,
  Client: undefined,
};
