import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { TestDatabase } from './database.js';

/** A connection that listens on a channel, as a worker's does. */
export interface Listening {
  /**
   * What was heard since the last call. All that was committed before this call is in it: notifications arrive
   * in the order of commits, and this one sends the last.
   */
  readonly heard: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/** Listens on a channel until it is closed. */
export async function listen({ url }: Pick<TestDatabase, 'url'>, channel: string): Promise<Listening> {
  const client = new Client({ connectionString: url });
  const texts: string[] = [];
  const waiting = new Map<string, () => void>();
  client.on('notification', ({ payload = '' }) => {
    const arrived = waiting.get(payload);
    if (arrived) arrived();
    else texts.push(payload);
  });
  await client.connect();
  await client.query(`listen ${client.escapeIdentifier(channel)}`);
  return {
    heard: async () => {
      const last = randomUUID();
      const arrived = new Promise<void>((resolve) => waiting.set(last, resolve));
      await client.query('select pg_notify($1, $2)', [channel, last]);
      await arrived;
      waiting.delete(last);
      return texts.splice(0);
    },
    close: () => client.end(),
  };
}
