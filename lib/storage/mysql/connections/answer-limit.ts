import type { Connection } from 'mysql2';
import { streamOf } from './stream-of.js';

/** Waits for what a connection is doing, but no longer: then the connection is destroyed, and the promise rejects. */
export async function withAnswerLimit<T>(
  connection: Connection,
  work: Promise<T>,
  mostMs: number,
): Promise<T> {
  let late: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    late = setTimeout(() => {
      const error = Object.assign(new Error(`no answer in ${mostMs} ms`), { code: 'ETIMEDOUT' });
      streamOf(connection).destroy(error);
      reject(error);
    }, mostMs);
    // A connection that was destroyed meanwhile keeps no process alive.
    late.unref();
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(late);
  }
}

/** Connects, but no longer than that. */
export async function connectWithin(connection: Connection, mostMs: number): Promise<void> {
  const connected = new Promise<void>((resolve, reject) => {
    connection.connect((error) => (error ? reject(error) : resolve()));
  });
  await withAnswerLimit(connection, connected, mostMs);
}
