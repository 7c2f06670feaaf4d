import type { PoolClient } from 'pg';

/**
 * Takes `release` from a client that a handler may get: libraries give back what they have used (Kysely after every
 * statement), and the connection would go to another task in the middle of this one's transaction. Theirs does
 * nothing.
 *
 * @returns gives the connection back, as it was: one that is lent for years must not collect what each use put around it
 */
export function takeRelease(client: PoolClient): (error?: Error) => void {
  const release = Reflect.get(client, 'release');
  client.release = () => undefined;
  return (error) => {
    client.release = release;
    client.release(error);
  };
}
