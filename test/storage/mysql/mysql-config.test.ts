import { createPool } from 'mysql2';
import { createPool as createPromisePool } from 'mysql2/promise';
import { expect, test } from 'vitest';
import {
  connectionKey,
  connectionProblem,
  mysqlConfig,
} from '../../../lib/storage/mysql/connections/mysql-config.js';

test('a URL is taken apart, with its parameters as the driver reads them', () => {
  const url =
    'mysql://us%40er:p%2Fw@db.example:3307/shop?connectTimeout=500&ssl={"rejectUnauthorized":false}';
  expect(mysqlConfig(url)).toMatchObject({
    host: 'db.example',
    port: 3307,
    user: 'us@er',
    password: 'p/w',
    database: 'shop',
    connectTimeout: 500,
    ssl: { rejectUnauthorized: false },
  });
  expect(mysqlConfig('mariadb://[::1]/shop')).toMatchObject({ host: '::1', database: 'shop' });
});

test('what the statements take for granted cannot be configured otherwise', () => {
  const config = mysqlConfig('mysql://db/shop?timezone=local&multipleStatements=false&charset=latin1');
  expect(config).toMatchObject({ timezone: 'Z', multipleStatements: true, charset: 'UTF8MB4_BIN' });
});

test.each([
  { name: 'with callbacks', make: createPool },
  { name: 'with promises', make: createPromisePool },
])('of a pool $name only the configuration of its connections is read', async ({ make }) => {
  const pool = make({
    host: 'db',
    port: 3307,
    user: 'u',
    password: 'secret',
    database: 'shop',
    connectionLimit: 3,
  });
  try {
    const config = mysqlConfig(pool);
    expect(config).toMatchObject({ host: 'db', port: 3307, user: 'u', password: 'secret', database: 'shop' });
    expect(config).not.toHaveProperty('connectionLimit');
    expect(connectionProblem(pool)).toBeUndefined();
  } finally {
    await pool.end();
  }
});

test('connections to the same database as the same user have one key, which holds no password', () => {
  const one = connectionKey('mysql://u:one@db:3306/shop');
  expect(one).toBe(connectionKey({ host: 'db', user: 'u', password: 'two', database: 'shop' }));
  expect(one).not.toContain('one');
  expect(one).not.toBe(connectionKey('mysql://u@db/other'));
});

test.each([
  ['mysql://u:p@db:3306', 'names no database'],
  ['mysql://u:p@db:3306/', 'names no database'],
  ['mysql://u:p%@db/shop', 'special characters of the password'],
  ['mysql://u:p#@db/shop', 'special characters of the password'],
])('%s says what is wrong with it', (url, said) => {
  expect(connectionProblem(url)).toContain(said);
});
