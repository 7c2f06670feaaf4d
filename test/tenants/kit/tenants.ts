import { randomBytes } from 'node:crypto';
import { Client, type ClientConfig, type Pool } from 'pg';
import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import { createDatabase, type TestDatabase } from '../../support/database.js';

/** A tenant with a database and a role of its own. */
export interface Tenant {
  /** As tasks name it. */
  readonly id: string;
  /** As whoever runs the server sees its database. */
  readonly pool: Pool;
  /** How its role gets in; the password is a secret that must not turn up anywhere. */
  readonly config: Required<Pick<ClientConfig, 'host' | 'port' | 'database' | 'user'>> & { password: string };
  /** Lines of its table `note`, sorted. */
  notes(): Promise<readonly string[]>;
  /** Connections of the library to its database. */
  connections(): Promise<number>;
}

/** Part of every secret, so that one look finds any. */
export const secretMark = 's3cr3t';

export function secret(): string {
  return `${secretMark}${randomBytes(8).toString('hex')}`;
}

/** Makes databases of tenants for a test file; their tables are emptied after each test. */
export function useTenants(...ids: string[]): (id: string) => Tenant {
  const tenants = new Map<string, Tenant & { drop(): Promise<void> }>();
  beforeAll(async () => {
    for (const id of ids) tenants.set(id, await createTenant(id));
  });
  afterEach(async () => {
    for (const { pool } of tenants.values()) {
      await pool.query('truncate note; drop table if exists tarefa_done');
    }
  });
  afterAll(async () => {
    for (const tenant of tenants.values()) await tenant.drop();
  });
  return (id) => {
    const tenant = tenants.get(id);
    if (!tenant) throw new Error(`there is no tenant ${id}`);
    return tenant;
  };
}

async function createTenant(id: string): Promise<Tenant & { drop(): Promise<void> }> {
  const database: TestDatabase = await createDatabase();
  const { hostname, port, pathname } = new URL(database.url);
  const name = pathname.slice(1);
  const user = `role_${name}`;
  const password = secret();
  await database.pool.query(
    `create role ${user} login password '${password}';
     alter database ${name} owner to ${user};
     create table note (text text);
     grant all on note to ${user}; grant create on schema public to ${user}`,
  );
  return {
    id,
    pool: database.pool,
    config: { host: hostname, port: Number(port), database: name, user, password },
    notes: async () => {
      const { rows } = await database.pool.query<{ text: string }>('select text from note order by 1');
      return rows.map(({ text }) => text);
    },
    connections: async () => {
      const { rowCount } = await database.pool.query(
        `select from pg_stat_activity where datname = $1 and application_name like 'tarefa%'`,
        [name],
      );
      return rowCount ?? 0;
    },
    drop: async () => {
      await database.drop();
      const client = new Client({ connectionString: inject('databaseUrl') });
      await client.connect();
      await client.query(`drop role ${user}`);
      await client.end();
    },
  };
}
