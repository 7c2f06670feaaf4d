import { randomUUID } from 'node:crypto';
import { clearTimeout as cancel, setTimeout as later } from 'node:timers';
import { Client } from 'pg';
import type { TestDatabase } from './database.js';

const deadlineMs = 20_000;

/** A connection that listens on a channel, as a worker's does. */
export interface Listening {
  /** The next text that neither `next` nor `heard` has answered yet. Fails when none comes within 20 s. */
  readonly next: () => Promise<string>;
  /**
   * All other texts up to now. What was committed before this call is among them: notifications arrive in the
   * order of commits, and this one sends the last.
   */
  readonly heard: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/** Listens on a channel until it is closed. */
export async function listen({ url }: Pick<TestDatabase, 'url'>, channel: string): Promise<Listening> {
  const client = new Client({ connectionString: url });
  const texts: string[] = [];
  const arrived = new Set<() => void>();
  client.on('notification', ({ payload = '' }) => {
    texts.push(payload);
    for (const look of arrived) look();
  });
  // A test that failed may leave it open when the database is dropped.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(`listen ${client.escapeIdentifier(channel)}`);

  const once = (is: () => boolean, what: string): Promise<void> => {
    const missing = new Error(`not within ${deadlineMs} ms: ${what} on ${channel}`);
    return new Promise((resolve, reject) => {
      const timer = later(() => {
        arrived.delete(look);
        reject(missing);
      }, deadlineMs).unref();
      const look = (): void => {
        if (!is()) return;
        arrived.delete(look);
        cancel(timer);
        resolve();
      };
      arrived.add(look);
      look();
    });
  };
  return {
    next: async () => {
      await once(() => texts.length > 0, 'a notification');
      return texts.shift() ?? '';
    },
    heard: async () => {
      const last = randomUUID();
      await client.query('select pg_notify($1, $2)', [channel, last]);
      await once(() => texts.includes(last), 'its own notification');
      return texts.splice(0, texts.indexOf(last) + 1).slice(0, -1);
    },
    close: () => client.end(),
  };
}
