import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { createConnection, createPool, type Pool } from 'mysql2/promise';
import { afterAll, inject } from 'vitest';
import type { MysqlAnswer } from './mysql-run.js';
import type { MysqlFlavour } from './mysql-server.js';

export type { MysqlFlavour } from './mysql-server.js';

/** A database of its own on one of the run's servers. */
export interface MysqlTestDatabase {
  /** Address of the database, with all rights. */
  readonly url: string;
  readonly name: string;
  /** For the test's own statements: times as text in UTC, several statements in one text. */
  readonly pool: Pool;
  /** Ends the pool and removes the database, whoever is still connected. */
  drop(): Promise<void>;
}

/** How long a hook waits that may be the first to ask for a server: its package may have to be fetched. */
export const mysqlStartMs = 300_000;

/** Makes an empty database; one per test file is the rule. The first that asks for one waits for the server's start. */
export async function createMysqlDatabase(flavour: MysqlFlavour): Promise<MysqlTestDatabase> {
  const server = await findServer(flavour);
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onServer(server, `create database ${name}`);
  const address = new URL(server);
  address.pathname = `/${name}`;
  const pool = createPool({
    uri: address.href,
    connectionLimit: 100,
    timezone: 'Z',
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    multipleStatements: true,
  });
  return {
    url: address.href,
    name,
    pool,
    drop: async () => {
      await pool.end();
      await onServer(server, `drop database if exists ${name}`);
    },
  };
}

/** {@link createMysqlDatabase} of a test file: it goes when the file's tests have ended. */
export async function useMysqlDatabase(flavour: MysqlFlavour): Promise<MysqlTestDatabase> {
  const database = await createMysqlDatabase(flavour);
  afterAll(() => database.drop());
  return database;
}

/** Address of the run's server of that flavour, without a database. */
export async function findServer(flavour: MysqlFlavour): Promise<string> {
  const caller = connect(inject('mysqlDesk'), '127.0.0.1');
  await once(caller, 'connect');
  caller.write(`${flavour}\n`);
  const answer = JSON.parse(await text(caller)) as MysqlAnswer;
  if ('url' in answer) return answer.url;
  throw new Error(answer.fault);
}

async function onServer(uri: string, sql: string): Promise<void> {
  const connection = await createConnection(uri);
  try {
    await connection.query(sql);
  } finally {
    await connection.end();
  }
}
