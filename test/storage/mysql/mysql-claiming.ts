import type { ClaimedTask, Completion, RouteDemand } from '../../../lib/storage/attempt.js';
import type { Claims } from '../../../lib/storage/claims.js';
import type { MysqlAccess } from '../../../lib/storage/mysql/mysql-access.js';
import type { MysqlDatabase } from '../../../lib/storage/mysql/mysql-database.js';
import type { MysqlFlavour } from '../../support/mysql.js';
import { useMysqlQueue, type MysqlQueueBench } from './mysql-queue.js';

/** A queue in MySQL or MariaDB, empty at the beginning of each test, and workers' claims of it. */
export interface MysqlClaimBench extends Pick<MysqlQueueBench, 'server' | 'ask' | 'statuses'> {
  readonly access: MysqlAccess;
  /** Claims of a worker. */
  claimsOf(workerId: string): Claims;
  /** Another process's, with connections of its own. */
  openAnother(): Promise<{ readonly access: MysqlAccess; readonly claims: (workerId: string) => Claims }>;
}

/** @param filled true when the file's tests only read what they find */
export function useMysqlClaims(flavour: MysqlFlavour, filled = false): MysqlClaimBench {
  const bench = useMysqlQueue(flavour, { filled });
  return {
    get server() {
      return bench.server;
    },
    get access() {
      return bench.database.access;
    },
    claimsOf: (workerId) => claimsOf(bench.database, workerId),
    async openAnother() {
      const other = await bench.openUnchecked(bench.server.url);
      return { access: other.access, claims: (workerId) => claimsOf(other, workerId) };
    },
    ask: bench.ask,
    statuses: bench.statuses,
  };
}

const claimsOf = (database: MysqlDatabase, workerId: string): Claims =>
  database.claimsOf(workerId, { concurrency: 10, warn: () => undefined });

/** What is claimed of some routes. */
export async function claimFrom(
  claims: Claims,
  total: number,
  routes: readonly RouteDemand[] = [{ route: 't:a', limit: total }],
): Promise<readonly ClaimedTask[]> {
  return (await claims.settleAndClaim([], { routes, total, order: 'age' })).claimed;
}

export const keysOf = (claimed: readonly ClaimedTask[]): readonly (string | null)[] =>
  claimed.map(({ task }) => task.externalKey);

export const done = ({ id, reservation }: ClaimedTask): Completion => ({
  id,
  reservation,
  message: 'done',
  result: null,
});
