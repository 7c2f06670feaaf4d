import { randomBytes } from 'node:crypto';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { createMysqlDatabase, mysqlStartMs, type MysqlTestDatabase } from '../../support/mysql.js';
import { mysqlOfRun } from '../../support/run-database.js';
import { secret } from './tenants.js';

/** A tenant with a database and a user of its own in the run's MariaDB or MySQL. */
export interface MysqlTenant {
  /** As whoever runs the server sees its database. */
  readonly pool: Pool;
  /** How its user gets in; the password is a secret that must not turn up anywhere. */
  readonly config: {
    readonly host: string;
    readonly port: number;
    readonly database: string;
    readonly user: string;
    readonly password: string;
  };
  /** Lines of its table `note`, sorted. */
  notes(): Promise<readonly string[]>;
  /** Sessions of its user, each with the statement that it is at work on. */
  sessions(): Promise<readonly { readonly id: number; readonly info: string | null }[]>;
}

/** Makes the database of a tenant for a test file; its tables are emptied after each test. */
export function useMysqlTenant(): () => MysqlTenant {
  let database: MysqlTestDatabase;
  let tenant: MysqlTenant;
  const user = `tenant_${randomBytes(6).toString('hex')}`;
  beforeAll(async () => {
    database = await createMysqlDatabase(mysqlOfRun);
    const { hostname, port } = new URL(database.url);
    const password = secret();
    const { name, pool } = database;
    await pool.query(
      `create user ${user}@'%' identified by '${password}'; grant all on ${name}.* to ${user}@'%';
       create table note (text varchar(100))`,
    );
    tenant = {
      pool,
      config: { host: hostname, port: Number(port), database: name, user, password },
      notes: async () => {
        const [rows] = await pool.query<RowDataPacket[]>('select text from note order by text');
        return rows.map(({ text }) => String(text));
      },
      sessions: async () => {
        const [rows] = await pool.query<RowDataPacket[]>(
          'select id as id, info as info from information_schema.processlist where user = ?',
          [user],
        );
        return rows.map(({ id, info }) => ({ id: Number(id), info: info as string | null }));
      },
    };
  }, mysqlStartMs);
  afterEach(() => database.pool.query('truncate note; drop table if exists tarefa_done'));
  afterAll(async () => {
    await database.pool.query(`drop user ${user}@'%'`);
    await database.drop();
  });
  return () => tenant;
}
