import mysql from 'mysql2';
import { afterAll, beforeAll } from 'vitest';
import { MysqlCoordination } from '../../../lib/assembly/mysql-coordination.js';
import { mysqlConfig } from '../../../lib/storage/mysql/connections/mysql-config.js';
import { SharedMysqlSessions } from '../../../lib/storage/mysql/connections/shared-sessions.js';
import { ServerAccess } from '../../../lib/storage/mysql/other-ways.js';
import { MysqlWorkers } from '../../../lib/storage/mysql/mysql-workers.js';
import { prepareSchema, type SchemaRequest } from '../../../lib/storage/mysql/schema/prepare-schema.js';
import {
  createMysqlDatabase,
  mysqlStartMs,
  type MysqlFlavour,
  type MysqlTestDatabase,
} from '../../support/mysql.js';
import { connectionsTo } from '../../storage/mysql/mysql-queue.js';

/** What a process of a queue has to find others by. */
export interface MysqlProcess {
  readonly access: ServerAccess;
  readonly workers: MysqlWorkers;
  readonly coordination: MysqlCoordination;
  readonly warnings: readonly string[];
  close(): Promise<void>;
}

export interface ProcessOptions {
  readonly table?: string;
  readonly listens?: boolean;
  readonly graceMs?: number;
}

/** Opens what a process of a queue has, as if it were one of its own. */
export async function openProcess(
  url: string,
  { table = 'tasks', listens = true, graceMs = 0 }: ProcessOptions = {},
): Promise<MysqlProcess> {
  const access = new ServerAccess(connectionsTo(url));
  const { own } = access;
  const schema: SchemaRequest = {
    table: { schema: undefined, table },
    subscriptionTable: undefined,
    mode: 'create',
    webhooks: false,
    works: true,
  };
  access.prepare(await own.use((run) => prepareSchema(run, schema)));
  const warnings: string[] = [];
  const coordination = await MysqlCoordination.open({
    mysql,
    config: mysqlConfig(url),
    sessions: new SharedMysqlSessions(),
    sessionKey: url,
    own,
    tables: () => access.tables,
    workers: () => workers,
    listens,
    graceMs,
    warn: (message) => warnings.push(message),
  });
  const { bell } = coordination;
  const workers = new MysqlWorkers(access, { halted: () => bell.ring('tasks', { halt: true }) });
  return {
    access,
    workers,
    coordination,
    warnings,
    close: async () => {
      await bell.settled();
      await coordination.close();
      await access.close();
    },
  };
}

/** Makes a database for the file, and processes in it. */
export function useProcesses(
  flavour: MysqlFlavour,
  options: readonly ProcessOptions[],
  create: (flavour: MysqlFlavour) => Promise<MysqlTestDatabase> = createMysqlDatabase,
): { readonly server: () => MysqlTestDatabase; readonly processes: readonly MysqlProcess[] } {
  let server: MysqlTestDatabase;
  const processes: MysqlProcess[] = [];
  beforeAll(async () => {
    server = await create(flavour);
    for (const one of options) processes.push(await openProcess(server.url, one));
  }, mysqlStartMs);
  afterAll(async () => {
    await Promise.all(processes.map((one) => one.close()));
    await server?.drop();
  });
  return { server: () => server, processes };
}
