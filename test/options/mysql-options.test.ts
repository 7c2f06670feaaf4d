import mysql from 'mysql2';
import promises from 'mysql2/promise';
import { expect, test } from 'vitest';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { hasCode, type QueueOptions } from '../../lib/index.js';

const config = { host: 'db', port: 3307, user: 'ana', password: 'secret', database: 'shop' };

const resolve = (options: QueueOptions) => resolveOptions({ queue: 'orders', ...options }, {});

/** What is wrong, one line for each mistake. */
function mistakes(options: QueueOptions): readonly string[] {
  try {
    resolve(options);
    return [];
  } catch (error) {
    if (!hasCode(error, 'OPTIONS_INVALID')) throw error;
    return error.message.split('\n- ').slice(1);
  }
}

test('a URL by its scheme, a configuration by its driver or URI, and a pool are a connection of mysql2', () => {
  for (const address of ['mysql://h/d', 'mariadb://ana:secret@h:3307/d', 'MySQL://h/d']) {
    expect(resolve({ connection: address }).connection).toEqual({ driver: 'mysql', address });
  }
  // The driver is our word: mysql2 complains of options that it does not know.
  expect(resolve({ connection: { driver: 'mysql', ...config, charset: 'utf8mb4' } }).connection).toEqual({
    driver: 'mysql',
    address: { ...config, charset: 'utf8mb4' },
  });
  expect(resolve({ connection: { uri: 'mysql://h/d' } }).connection.driver).toBe('mysql');
  for (const pool of [mysql.createPool(config), promises.createPool(config)]) {
    expect(resolve({ connection: pool }).connection).toEqual({ driver: 'mysql', address: pool });
  }
  expect(resolve({ connection: config }).connection).toEqual({ driver: 'postgres', address: config });
});

test('what only PostgreSQL has is refused, all of it at once', () => {
  const connection = 'mysql://ana:secret@db/shop';
  const sessionConnection = 'postgres://db/shop';
  expect(
    mistakes({ connection, layout: 'partitioned', interop: 'nsj', sessionConnection, wake: 'listen' }),
  ).toEqual([
    'sessionConnection is for PostgreSQL behind a pooler: leave it out on MySQL and MariaDB',
    'layout: only PostgreSQL tables can be partitioned: leave it out',
    'interop: nsj-queue-lib can take its locks in the database only on PostgreSQL: leave it out on MySQL and MariaDB, or set ' +
      'CLIENT_SERVER_MODE=TRUE if its workers take locks in their server',
    `wake: 'listen' is for PostgreSQL: use 'kill' or 'poll' on MySQL and MariaDB`,
  ]);
  expect(mistakes({ connection, layout: 'plain', interop: false, embeddedDataDir: '/data' })).toEqual([]);
});

test('workers are woken by kill unless they poll, and look every second in any case', () => {
  const connection = 'mysql://db/shop';
  expect(resolve({ connection })).toMatchObject({ wake: 'kill', pollIntervalMs: 1_000 });
  expect(resolve({ connection, wake: 'poll' })).toMatchObject({ wake: 'poll', pollIntervalMs: 1_000 });
  expect(mistakes({ connection: 'postgres://db/shop', wake: 'kill' })).toEqual([
    `wake: 'kill' is for MySQL and MariaDB: use 'listen' or 'poll' on PostgreSQL`,
  ]);
  expect(mistakes({ connection, wake: 'bell' as 'kill' })).toEqual([
    "wake cannot be 'bell': to wake workers through a bell, set the option bell and leave wake out",
  ]);
});

test('a URL that cannot be read is not shown', () => {
  for (const connection of ['mysql://ana:12/secret@h/d', 'mysql://ana:secret@h:port/d']) {
    const found = mistakes({ connection });
    expect(found).toEqual([expect.stringContaining('cannot be read as a URL')]);
    expect(found.join()).not.toContain('secret');
  }
});

test('SingleStore is a connection of mysql2 that names its driver', () => {
  expect(resolve({ connection: { driver: 'singlestore', ...config } }).connection).toEqual({
    driver: 'mysql',
    address: config,
    dialect: 'singlestore',
  });
  const uri = 'mysql://h/d';
  expect(resolve({ connection: { driver: 'singlestore', uri } }).connection).toEqual({
    driver: 'mysql',
    address: { uri },
    dialect: 'singlestore',
  });
});

test('what SingleStore cannot do is refused by name', () => {
  const connection = { driver: 'singlestore', ...config } as const;
  const tenantDatabases = { resolve: () => ({ host: 'db', database: 'tenant', user: 'ana', password: '' }) };
  expect(mistakes({ connection, layout: 'partitioned', tenantDatabases, wake: 'kill' })).toEqual([
    'layout: only PostgreSQL tables can be partitioned: leave it out',
    "wake: 'kill' is for MySQL and MariaDB: workers on SingleStore always poll: leave it out",
    'tenantDatabases: their transactions need savepoints, which SingleStore does not have: leave it out',
  ]);
});
