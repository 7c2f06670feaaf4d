import type { PoolClient } from 'pg';
import { usedAfterEnd } from '../../../tenants/tenant-error.js';

/** What would reach the server. */
const guarded = new Set<string | symbol>(['query', 'end']);

/**
 * A client as a library takes it, that refuses statements when its handler has ended: by then the connection may be
 * another attempt's. Its methods run on the client itself.
 */
export function guardedClient(client: PoolClient, hasEnded: () => boolean): PoolClient {
  return new Proxy(client, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function' || name === 'constructor') return value;
      return (...given: unknown[]): unknown =>
        guarded.has(name) && hasEnded()
          ? refuse(given.at(-1))
          : (Reflect.apply(value, target, given) as unknown);
    },
  });
}

/** As `pg` tells errors: to the callback, when there is one. */
function refuse(callback: unknown): unknown {
  if (typeof callback === 'function') {
    callback(usedAfterEnd());
    return undefined;
  }
  const refused = Promise.reject(usedAfterEnd());
  // A handler that does not wait for it must not end the process.
  refused.catch(() => undefined);
  return refused;
}
