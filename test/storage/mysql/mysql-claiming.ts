import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { RowDataPacket } from 'mysql2';
import type { ClaimedTask, Completion, RouteDemand } from '../../../lib/storage/attempt.js';
import type { Claims } from '../../../lib/storage/claims.js';
import { ControlConnection } from '../../../lib/storage/mysql/connections/control-connection.js';
import { mysqlConfig, ownSettings } from '../../../lib/storage/mysql/connections/mysql-config.js';
import { loadMysql2 } from '../../../lib/storage/mysql/connections/mysql-package.js';
import { OwnPool } from '../../../lib/storage/mysql/connections/own-pool.js';
import { MysqlAccess } from '../../../lib/storage/mysql/mysql-access.js';
import { RowsApart } from '../../../lib/storage/rows-apart.js';
import { MysqlClaims } from '../../../lib/storage/mysql/mysql-claims.js';
import { prepareSchema } from '../../../lib/storage/mysql/schema/prepare-schema.js';
import {
  createMysqlDatabase,
  mysqlStartMs,
  type MysqlFlavour,
  type MysqlTestDatabase,
} from '../../support/mysql.js';

/** A queue in MySQL or MariaDB, empty at the beginning of each test, and workers' claims of it. */
export interface MysqlClaimBench {
  readonly server: MysqlTestDatabase;
  readonly access: MysqlAccess;
  /** Claims of a worker. */
  claimsOf(workerId: string): Claims;
  /** Another process's, with connections of its own. */
  openAnother(): Promise<{ readonly access: MysqlAccess; readonly claims: (workerId: string) => Claims }>;
  ask(sql: string, values?: readonly unknown[]): Promise<RowDataPacket[]>;
}

/** @param filled true when the file's tests only read what they find */
export function useMysqlClaims(flavour: MysqlFlavour, filled = false): MysqlClaimBench {
  let server: MysqlTestDatabase;
  let access: MysqlAccess;
  const others: MysqlAccess[] = [];

  beforeAll(async () => {
    server = await createMysqlDatabase(flavour);
    access = await openAccess(server.url);
  }, mysqlStartMs);
  afterAll(async () => {
    await Promise.all([access, ...others].map((one) => one?.close()));
    await server?.drop();
  });
  beforeEach(async () => {
    if (filled) return;
    await server.pool.query('delete from tasks; delete from tasks_worker; delete from tasks_paused');
  });

  return {
    get server() {
      return server;
    },
    get access() {
      return access;
    },
    claimsOf: (workerId) => claimsOf(access, workerId),
    async openAnother() {
      const other = await openAccess(server.url);
      others.push(other);
      return { access: other, claims: (workerId) => claimsOf(other, workerId) };
    },
    async ask(sql, values = []) {
      const [rows] = await server.pool.query<RowDataPacket[]>(sql, [...values]);
      return rows;
    },
  };
}

const claimsOf = (access: MysqlAccess, workerId: string): Claims =>
  new MysqlClaims(access, workerId, new RowsApart(() => undefined), {
    concurrency: 10,
    warn: () => undefined,
  });

async function openAccess(url: string): Promise<MysqlAccess> {
  const mysql = await loadMysql2();
  const config = mysqlConfig(url);
  const watcher = { lost: () => undefined, restored: () => undefined };
  const control = (): ControlConnection => new ControlConnection(mysql, config, ownSettings, watcher);
  const own = new OwnPool({ mysql, config, max: 2, settings: ownSettings });
  const access = new MysqlAccess({ tasks: own, own, control: { first: control(), second: control() } });
  const prepared = await own.use((run) =>
    prepareSchema(run, {
      table: { schema: undefined, table: 'tasks' },
      subscriptionTable: { schema: undefined, table: 'tasks_subscriber' },
      mode: 'create',
      webhooks: false,
      works: true,
    }),
  );
  access.prepare(prepared);
  return access;
}

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
