import type { PoolClient } from 'pg';
import { defaultPatienceMs } from '../../connection-line.js';
import type { SqlHandle } from '../../sql-handle.js';
import type { RunTransaction } from '../partitions/short-transaction.js';
import { noAnswer, wrapConnectionError } from './connection-config.js';
import { inTransaction } from './in-transaction.js';
import { type Lender, type OwnPool, queryOn } from './own-pool.js';
import { ownTypes } from './own-types.js';
import type { Reach } from './pooler.js';
import { isRingRefused, runQuietly, withoutRefusedRing } from './without-ring.js';

/** What the library inserts through, and makes single changes. */
export interface InsertConnections {
  /** Each statement commits by itself. */
  readonly inserts: SqlHandle;
  /** Runs work in a transaction of its own. */
  readonly inOwnTransaction: RunTransaction;
}

/** Statements are prepared once per connection, by their text, where that is ours alone. */
export function insertConnections(
  pool: OwnPool,
  spare: OwnPool | undefined,
  reach: Reach,
): InsertConnections {
  const lender = lenderForInserts(pool, spare);
  const run: RunTransaction = (work) => inTransaction(lender, work);
  const names = new Map<string, string>();
  const inserts: SqlHandle = {
    query: async (text, values = []) => {
      const name = reach === 'direct' ? (names.get(text) ?? `tarefa_client_${names.size}`) : undefined;
      if (name !== undefined) names.set(text, name);
      try {
        return await queryOn(lender.connect(), { name, text, values, types: ownTypes });
      } catch (error) {
        if (!isRingRefused(error)) throw wrapConnectionError(error, noAnswer);
        return runQuietly(run, (tx) => tx.query(text, values)).catch((reason: unknown) => {
          throw wrapConnectionError(reason, noAnswer);
        });
      }
    },
  };
  return { inserts, inOwnTransaction: withoutRefusedRing(run) };
}

/**
 * While others hold the whole pool, the spare connection; where that cannot be opened, the pool after all. Not for ever: who
 * inserts may be what holds it.
 */
function lenderForInserts(pool: OwnPool, spare: OwnPool | undefined): Lender {
  if (!spare) return pool;
  const instead = (error: Error): Promise<PoolClient> => lentWithin(pool.connect(), defaultPatienceMs, error);
  return { connect: () => (pool.line.isExhausted ? spare.connect().catch(instead) : pool.connect()) };
}

/** What is lent in time; what comes later goes back. */
function lentWithin(lending: Promise<PoolClient>, mostMs: number, reason: Error): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const late = setTimeout(() => {
      isLate = true;
      reject(reason);
    }, mostMs);
    lending
      .then((client) => (isLate ? client.release() : resolve(client)), reject)
      .finally(() => clearTimeout(late));
  });
}
