import { Client, Pool } from 'pg';
import { expect, test } from 'vitest';
import {
  connectionConfig,
  wrapConnectionError,
} from '../../../lib/storage/postgres/connections/connection-config.js';

test('a pool is read with its password, which it hides from being copied, and without its size', async () => {
  const pool = new Pool({
    host: 'db',
    user: 'ana',
    password: 'secret',
    max: 50,
    min: 5,
    idleTimeoutMillis: 1,
  });
  const config = connectionConfig(pool);
  expect(config).toMatchObject({ host: 'db', user: 'ana', password: 'secret' });
  expect(config).not.toHaveProperty('max');
  await pool.end();
});

test.each<[string, (ssl: object) => object]>([
  ['of a configuration', (ssl) => ({ host: 'db', ssl })],
  ['of a pool', (ssl) => new Pool({ host: 'db', ssl })],
])('the key of a client certificate %s is copied, though pg hides it', (_, given) => {
  const tls = { ca: 'authority', cert: 'certificate', key: 'secret' };
  const ssl = { ...tls };
  const connection = given(ssl);
  // What it is used for elsewhere hides the key in the user's own object.
  void new Client({ host: 'db', ssl });
  const config = connectionConfig(connection);
  // A connection of ours hides it in what that one was made from.
  void new Client(config);
  expect(structuredClone(connectionConfig(connection)).ssl).toEqual(tls);
});

test('what a user has given is left as it is', () => {
  const given = { host: 'db', ssl: { ca: 'authority', cert: 'certificate', key: 'secret' } };
  const before = structuredClone(given);
  void new Client(connectionConfig(given));
  expect(structuredClone(given)).toEqual(before);
});

test('a host with several addresses, none of which answers, is said with each of them', () => {
  const refused = (address: string): Error =>
    Object.assign(new Error(`connect ECONNREFUSED ${address}`), { code: 'ECONNREFUSED' });
  // As `net` makes it for `localhost`.
  const error = Object.assign(new AggregateError([refused('::1:5432'), refused('127.0.0.1:5432')]), {
    code: 'ECONNREFUSED',
  });
  expect(wrapConnectionError(error, 'the database did not answer')).toMatchObject({
    code: 'CONNECTION_LOST',
    message:
      'the database did not answer: connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432',
    cause: error,
  });
});
