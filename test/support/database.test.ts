import { Client } from 'pg';
import { expect, inject, test } from 'vitest';
import { createDatabase } from './database.js';

test('each database is empty, separate and gone after drop', async () => {
  const first = await createDatabase();
  const second = await createDatabase();
  await first.pool.query('create table note (text text)');
  await first.pool.query("insert into note values ('naïve café 🍵')");
  expect((await first.pool.query('select text from note')).rows).toEqual([{ text: 'naïve café 🍵' }]);
  expect((await second.pool.query("select to_regclass('note') as note")).rows).toEqual([{ note: null }]);
  expect(first.url).not.toBe(second.url);
  // A forgotten connection does not keep the database from being dropped.
  const forgotten = await createDatabase();
  const client = new Client({ connectionString: forgotten.url });
  const cut = new Promise((resolve) => client.on('error', resolve));
  await client.connect();
  const names = [first, second, forgotten].map(({ url }) => new URL(url).pathname.slice(1));
  await Promise.all([first.drop(), second.drop(), forgotten.drop()]);
  expect(await cut).toMatchObject({ code: '57P01' });
  const admin = await createDatabase();
  const left = await admin.pool.query('select 1 from pg_database where datname = any($1)', [names]);
  expect(left.rowCount).toBe(0);
  await admin.drop();
});

test('the server is the one of the run', () => {
  expect(inject('databaseUrl')).toMatch(/^postgres(ql)?:\/\//);
});
