import { beforeEach, expect, test } from 'vitest';
import { readSchema } from '../storage/postgres/catalog.js';
import { createNsjTable } from '../storage/postgres/nsj-table.js';
import { listen } from '../support/listening.js';
import { runCli, type CliResult } from './support.js';
import { adoptBench } from './adopt-bench.js';

const bench = await adoptBench();
const { database, adopt, report } = bench;
const { pool } = database;
/** A table per test. */
let table = '';

beforeEach(() => {
  table = bench.nextTable();
});

/** What a command said, and whether it has changed any definition. */
const attempt = async (...args: string[]) => {
  const before = await readSchema(pool, 'public');
  const { code, stderr } = await adopt(...args);
  const after = await readSchema(pool, 'public');
  return { code, stderr, isUntouched: after.join() === before.join() };
};
const refusal = (text: RegExp, code = 2) => ({
  code,
  stderr: expect.stringMatching(text),
  isUntouched: true,
});

test('no table is named', async () => {
  expect(await runCli(['adopt', '--url', database.url, '--table', 'x'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no table given'),
  });
});

test('there is no such table', async () => {
  expect(await attempt('--yes')).toEqual(
    refusal(/the table public\.fila_\w+ does not exist: give its name with its schema/),
  );
});

test('it is another table', async () => {
  await pool.query(`create table ${table} (id bigint, status varchar(100), title text)`);
  expect(await attempt('--yes')).toEqual(
    refusal(/is not a table of nsj-queue-lib: .*\.id_inicial \(bigint\) is missing/),
  );
});

test('columns have other types', async () => {
  await createNsjTable(pool, table);
  await pool.query(`alter table ${table} alter column tenant type int`);
  expect(await attempt('--yes')).toEqual(refusal(/tenant is integer, not bigint/));
});

test('times have no zone, and it is not said which one they mean', async () => {
  await createNsjTable(pool, table, { time: 'timestamp without time zone' });
  expect(await attempt('--yes')).toEqual(refusal(/are stored without time zone; .*--time-zone/));
  expect((await report()).findings.map(({ kind }) => kind)).toContain('zone-needed');
});

test('there is no such zone', async () => {
  await createNsjTable(pool, table, { time: 'timestamp without time zone' });
  expect(await attempt('--yes', '--time-zone', 'Brazil')).toEqual(
    refusal(/"Brazil" is not a time zone of this server/, 1),
  );
});

test('attempts would have ended before they were due, in that zone', async () => {
  await createNsjTable(pool, table, { time: 'timestamp without time zone' });
  await pool.query(
    `set timezone = 'UTC'; insert into ${table} (status) select 'sucesso' from generate_series(1, 30); reset timezone`,
  );
  expect(await attempt('--yes', '--time-zone', 'America/Sao_Paulo')).toEqual(
    refusal(
      /of the last 20 finished attempts, 20 would be due only in the future, up to 3\.0 hours from now/,
    ),
  );
  expect(await adopt('--yes', '--time-zone', 'UTC')).toMatchObject({ code: 0 });
});

test('views are made of times that have to be converted', async () => {
  await createNsjTable(pool, table, { time: 'timestamp without time zone' });
  await pool.query(`create view monitor_${table} as select id, data_hora from ${table}`);
  expect(await attempt('--yes', '--time-zone', 'UTC')).toEqual(refusal(/views depend on these times/));
  expect((await report('--time-zone', 'UTC')).findings).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ kind: 'views', examples: [`monitor_${table} (data_hora)`] }),
    ]),
  );
  await pool.query(`drop view monitor_${table}`);
  expect(await adopt('--yes', '--time-zone', 'UTC')).toMatchObject({ code: 0 });
});

test('the channel is another one', async () => {
  await createNsjTable(pool, table, { channel: 'sino' });
  expect(await attempt('--yes', '--queue', 'campainha')).toEqual(
    refusal(/inserts ring the channel sino .*would listen on campainha/),
  );
});

test('no channel is given, and the function does not say plainly on which it rings', async () => {
  await createNsjTable(pool, table, { channel: `${table}' || '_bell`, naming: 'text' });
  expect(await attempt('--yes')).toEqual(refusal(/inserts ring a channel that the function does not name/));
  // Who gives it answers for it: the trigger stays, whatever it does.
  expect(await report('--yes', '--queue', 'sino')).toMatchObject({
    channel: 'sino',
    findings: expect.arrayContaining([expect.objectContaining({ kind: 'other-triggers' })]),
  });
  const bell = await listen(database, 'sino');
  await pool.query(`insert into ${table} (processo) values ('greet')`);
  expect(await bell.heard()).toHaveLength(1);
  await bell.close();
  const { rows } = await pool.query(
    'select tgname::text as name from pg_trigger where tgrelid = $1::regclass and not tgisinternal order by 1',
    [table],
  );
  expect(rows.map(({ name }) => name)).toEqual([
    `${table}_ring`,
    `${table}_schedule`,
    `trigger_insert_${table}`,
  ]);
});

test('the role does not own the table', async () => {
  await createNsjTable(pool, table);
  const role = `clerk_${table}`;
  await pool.query(
    `create role ${role} login password 'secret'; grant select on all tables in schema public to ${role}`,
  );
  const url = new URL(database.url);
  url.username = role;
  url.password = 'secret';
  const asClerk = (...args: string[]): Promise<CliResult> =>
    runCli(['adopt', table, '--url', url.href, ...args]);
  expect(await asClerk()).toMatchObject({ code: 0, stderr: '' });
  expect(await asClerk('--yes')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/does not own public\.fila_\w+: connect as/),
  });
  await pool.query(`drop owned by ${role}; drop role ${role}`);
});
