import type { Connection } from 'mysql2';

/** Waits for what a connection is doing, but no longer: then the connection is destroyed, and the promise rejects. */
export async function withAnswerLimit<T>(
  connection: Pick<Connection, 'destroy'>,
  work: Promise<T>,
  mostMs: number,
): Promise<T> {
  let late: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    late = setTimeout(() => {
      connection.destroy();
      reject(Object.assign(new Error(`no answer in ${mostMs} ms`), { code: 'ETIMEDOUT' }));
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
