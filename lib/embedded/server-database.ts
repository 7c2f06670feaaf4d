import { Client } from 'pg';
import { TarefaError } from '../errors.js';
import { superuser } from './cluster.js';
import { codeOf } from './error-facts.js';

const unknownDatabase = '3D000';
const wrongPassword = '28P01';
const tooManyConnections = '53300';

/** The address of the database `tarefa`; without TLS whatever PGSSLMODE says, as it never leaves the computer. */
export function databaseUrl(port: number, password: string): string {
  return `postgres://${superuser}:${password}@127.0.0.1:${port}/${superuser}?sslmode=disable`;
}

/**
 * Whether the server at `url` serves, with its database there (made when it is not); false while it starts,
 * recovers or stops.
 */
export async function isServing(url: string): Promise<boolean> {
  try {
    await query(url, 'select 1');
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === tooManyConnections) return true;
    if (code === unknownDatabase) return createDatabase(url);
    if (code !== wrongPassword) return false;
    throw new TarefaError(
      'EMBEDDED_START_FAILED',
      'The embedded PostgreSQL does not accept the password stored with its data.',
      { cause: error },
    );
  }
}

async function createDatabase(url: string): Promise<boolean> {
  const maintenance = new URL(url);
  maintenance.pathname = '/postgres';
  await query(maintenance.href, `create database ${superuser} template template0 encoding 'UTF8'`);
  return true;
}

async function query(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  // A server that stops while we are connected reports it here as well as to the query.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(sql);
  } finally {
    await client.end().catch(() => undefined);
  }
}
