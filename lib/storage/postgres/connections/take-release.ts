import type { PoolClient } from 'pg';

/**
 * Takes `release` from a client that a handler may get: libraries give back what they have used (Kysely after every
 * statement), and the connection would go to another task in the middle of this one's transaction. Theirs does
 * nothing.
 *
 * @returns gives the connection back
 */
export function takeRelease(client: PoolClient): (error?: Error) => void {
  const release = client.release.bind(client);
  client.release = () => undefined;
  return (error) => {
    client.release = release;
    release(error);
  };
}
