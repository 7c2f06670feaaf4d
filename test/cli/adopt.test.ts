import { beforeEach, describe, expect, test } from 'vitest';
import { adoptedParts, type AdoptedParts } from '../docs/adopted-parts.js';
import { readColumns, readIndexes, readSchema } from '../storage/postgres/catalog.js';
import { fillAsNsj, nsjRows } from '../storage/postgres/nsj-rows.js';
import { createNsjTable, type NsjAge } from '../storage/postgres/nsj-table.js';
import { listen } from '../support/listening.js';
import { createQueue } from '../support/queue-app.js';
import { withClient } from '../support/with-client.js';
import { adoptBench } from './adopt-bench.js';

const bench = await adoptBench();
const { database, adopt, report, runToTheEnd } = bench;
const { pool } = database;
/** A table per test. */
let table = '';

beforeEach(() => {
  table = bench.nextTable();
});

const everyCall = [
  'fail twice',
  'fail twice',
  'greet calm',
  'greet crashed',
  'greet later',
  'greet one',
  'greet two',
  'mail copy',
  'mail copy',
  'mail letter',
  'mail parcel',
  'mourn ended',
  'mourn ended',
  'mourn lost',
  'mourn twice',
  'mourn twice',
];

const ages: readonly (readonly [what: string, age: NsjAge & { readonly zone?: string }, args: string[]])[] = [
  ['28 columns', {}, []],
  ['27 columns', { hasPriority: false }, []],
  [
    '27 columns, times without zone in UTC',
    { hasPriority: false, time: 'timestamp without time zone' },
    ['UTC'],
  ],
  [
    '28 columns, times of São Paulo, a trigger with a condition',
    { time: 'timestamp without time zone', condition: 'trigger', zone: 'America/Sao_Paulo' },
    ['America/Sao_Paulo'],
  ],
];

describe.each(ages)('a table with %s', (_, { zone = 'UTC', ...age }, [timeZone]) => {
  const args = timeZone === undefined ? [] : ['--time-zone', timeZone];
  const make = async (): Promise<void> => {
    await createNsjTable(pool, table, age);
    await fillAsNsj(pool, table, { hasPriority: age.hasPriority ?? true, zone });
  };

  test('is first described, and not touched', async () => {
    await make();
    const before = await readSchema(pool, 'public');
    const { code, stdout, stderr } = await adopt(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/Nothing was changed\. Run it again with --yes to adopt the table\.\n$/);
    expect(await readSchema(pool, 'public')).toEqual(before);
    // What URLs may hold is said to nobody.
    expect(stdout).not.toContain('secret');
    expect(await report(...args)).toMatchObject({
      channel: table,
      adopted: false,
      statuses: expect.arrayContaining([
        { status: 'falha_processando', count: 1 },
        { status: 'processando', count: 1 },
        { status: 'sucesso', count: 4 },
      ]),
      findings: expect.arrayContaining([
        expect.objectContaining({
          kind: 'duplicate-successors',
          count: 1,
          examples: [`attempt ${nsjRows.twice}`],
        }),
        expect.objectContaining({
          kind: 'duplicate-dead-chains',
          count: 1,
          examples: [`task ${nsjRows.ended}`],
        }),
        expect.objectContaining({
          kind: 'duplicate-deliveries',
          count: 1,
          examples: [`publication ${nsjRows.publication} to mail`],
        }),
        expect.objectContaining({ kind: 'large-payloads', count: 1 }),
        expect.objectContaining({ kind: 'abandoned', count: 1 }),
        expect.objectContaining({ kind: 'crashed', count: 1 }),
        expect.objectContaining({ kind: 'old-indexes', count: 4 }),
        expect.objectContaining({ kind: 'trigger' }),
        expect.objectContaining({
          kind: 'refused-urls',
          examples: ['inside: 10.0.0.1 is a private address, which webhooks may not reach'],
        }),
        expect.objectContaining({ kind: 'unknown-methods', examples: ['none: none', 'odd: PATCH'] }),
        expect.objectContaining({ kind: 'plain-http', examples: ['plain: http://example.com/in'] }),
      ]),
    });
  });

  test('is adopted with --yes, keeps every row, and runs to the end', async () => {
    await make();
    const rows = `select id, processo, payload, payload_hash, tentativa, status, mensagem, id_inicial, id_anterior, live_id
      from ${table} order by id`;
    const before = (await pool.query(rows)).rows;
    const { code, stdout } = await adopt('--yes', ...args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/is now a queue of this library\n$/);
    // Tasks for later are filed as such.
    expect((await pool.query(rows)).rows).toEqual(
      before.map((row) => (row.payload === 'later' ? { ...row, status: 'agendada' } : row)),
    );
    expect(
      (await pool.query(`select id::int, rodada from ${table} where rodada > 0 order by id`)).rows,
    ).toEqual([
      { id: 19, rodada: 1000 },
      { id: 22, rodada: 1000 },
      { id: 25, rodada: 1000 },
    ]);
    expect(await runToTheEnd()).toEqual(everyCall);
    expect((await pool.query(`select status from ${table} where id = ${nsjRows.running}`)).rows).toEqual([
      { status: 'processando' },
    ]);
    // Each of the two branches ran to its end by itself, and so did the two dead chains they ended in.
    const { rows: dead } = await pool.query(
      `select rodada from ${table} where dead and live_id = ${nsjRows.twice} order by 1`,
    );
    expect(dead).toEqual([{ rodada: 0 }, { rodada: 1000 }]);
  });

  test('times keep their instants, and columns become those of a new queue', async () => {
    await make();
    const instants = async (sql: string) => (await pool.query(sql)).rows;
    const isZoneless = age.time === 'timestamp without time zone';
    const at = (column: string): string => (isZoneless ? `${column} at time zone '${zone}'` : column);
    const columns = ['data_hora_inicial', 'data_hora', 'proxima_tentativa', 'data_hora_anterior'];
    const before = await instants(
      `select ${columns.map((c) => `${at(c)} as ${c}`).join(', ')} from ${table} order by id`,
    );
    await adopt('--yes', ...args);
    expect(await instants(`select ${columns.join(', ')} from ${table} order by id`)).toEqual(before);
    await createQueue(database, { queue: `new_${table}` });
    const facts = async (name: string) =>
      (await readColumns(pool, name))
        .map(
          ([column, type, rest, required]) => `${column} ${type} ${rest?.replace(name, 'queue')} ${required}`,
        )
        .sort((a, b) => a.localeCompare(b));
    expect(await facts(table)).toEqual(await facts(`new_${table}`));
    expect(await facts(`${table}_subscriber`)).toEqual(await facts(`new_${table}_subscriber`));
    const indexes = async (name: string) =>
      Object.entries(await readIndexes(pool, name)).map(([index, text]) => [
        index.replace(name, 'queue'),
        // Printed where the column has another order, which it keeps: see `key-order.test.ts`.
        text.replaceAll(' COLLATE "C"', ''),
      ]);
    expect(await indexes(table)).toEqual(expect.arrayContaining(await indexes(`new_${table}`)));
  });
});

test('attempts that nobody runs are given back when that is asked for, and those that somebody runs are not', async () => {
  await createNsjTable(pool, table);
  await pool.query(`insert into ${table} (processo, payload, status) values
    ('greet', 'held', 'processando'), ('greet', 'left', 'processando')`);
  await withClient(database, async (worker) => {
    // As nsj-queue-lib locks a task.
    await worker.query('select pg_advisory_lock(1)');
    expect((await report('--give-back')).findings).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'running', count: 1 }),
        expect.objectContaining({ kind: 'abandoned', count: 1 }),
      ]),
    );
    await adopt('--give-back', '--yes');
  });
  expect(await runToTheEnd()).toEqual(['greet left']);
  expect((await pool.query(`select status from ${table} where id = 1`)).rows).toEqual([
    { status: 'processando' },
  ]);
});

test('it adds what the guides say, and nothing else', async () => {
  const names = async (text: string): Promise<readonly string[]> => {
    const { rows } = await pool.query<{ name: string }>({ text, values: [table] });
    return rows.map(({ name }) => name);
  };
  const parts = async (): Promise<AdoptedParts> => ({
    columns: await names(
      `select attname::text as name from pg_attribute where attrelid = to_regclass($1::text) and attnum > 0`,
    ),
    indexes: await names(
      `select c.relname::text as name from pg_index i join pg_class c on c.oid = i.indexrelid
       where i.indrelid = to_regclass($1::text)`,
    ),
    triggers: await names(
      `select tgname::text as name from pg_trigger where tgrelid = to_regclass($1::text) and not tgisinternal`,
    ),
    functions: await names(`select proname::text as name from pg_proc where starts_with(proname, $1::text)`),
    tables: await names(
      `select relname::text as name from pg_class
       where relkind = 'r' and (starts_with(relname, $1::text) or relname = 'tarefa_migration')`,
    ),
    views: await names(
      `select relname::text as name from pg_class where relkind = 'v' and starts_with(relname, $1::text)`,
    ),
  });
  await createNsjTable(pool, table, {});
  const before = await parts();
  expect((await adopt('--yes')).code).toBe(0);
  const after = await parts();
  for (const [part, said] of Object.entries(adoptedParts(table)) as [
    keyof AdoptedParts,
    readonly string[],
  ][]) {
    const added = after[part].filter((name) => !before[part].includes(name));
    // Its first queue made the table that queues share.
    const shared = part === 'tables' && !added.includes('tarefa_migration') ? ['tarefa_migration'] : [];
    expect([part, [...added, ...shared].toSorted()]).toEqual([part, said.toSorted()]);
  }
});

test('producers of nsj-queue-lib go on, on the channel that the table had', async () => {
  await createNsjTable(pool, table, { channel: 'Sino' });
  expect(await report('--yes')).toMatchObject({ channel: 'Sino' });
  const bell = await listen(database, 'Sino');
  await pool.query(`insert into ${table} (origem, destino, processo, chave_externa, payload)
    values ('a', 'b', 'greet', 'c', 'rung')`);
  // Once: its own trigger is gone.
  expect(await bell.heard()).toHaveLength(1);
  await bell.close();
  expect(await runToTheEnd('Sino')).toEqual(['greet rung']);
});

test('tasks for later that were pending are scheduled, and start on time', async () => {
  await createNsjTable(pool, table);
  await pool.query(
    `insert into ${table} (processo, payload, data_hora)
     select 'greet', n, clock_timestamp() + interval '1 hour' from generate_series(1, 2500) n`,
  );
  await pool.query(`insert into ${table} (processo, payload) values ('greet', 'now')`);
  const { findings } = await report('--yes');
  expect(findings).toContainEqual(expect.objectContaining({ kind: 'for-later', count: 2_500 }));
  const { rows } = await pool.query(`select status, count(*)::int as n from ${table} group by 1 order by 1`);
  expect(rows).toEqual([
    { status: 'agendada', n: 2_500 },
    { status: 'pendente', n: 1 },
  ]);
});

test('a table is adopted with the channel that is given, where it rings that one', async () => {
  await createNsjTable(pool, table, { channel: 'sino' });
  expect(await report('--yes', '--queue', 'sino')).toMatchObject({
    channel: 'sino',
    findings: [
      expect.objectContaining({ kind: 'trigger' }),
      expect.objectContaining({ kind: 'old-indexes' }),
    ],
  });
});

test('what users have added stays: columns, triggers, rules, indexes', async () => {
  await createNsjTable(pool, table);
  await pool.query(`
    alter table ${table} add column remark text default 'mine';
    create table ${table}_audit (id bigint);
    create function audit_${table}() returns trigger language plpgsql as $$
      begin insert into ${table}_audit values (new.id); return new; end $$;
    create trigger audit after insert on ${table} for each row execute function audit_${table}();
    create function shout_${table}() returns trigger language plpgsql as $$
      begin perform pg_notify('elsewhere', new.id::text); return new; end $$;
    create trigger shout after insert on ${table} for each row execute function shout_${table}();
    create rule keep as on delete to ${table} where old.remark = 'keep' do instead nothing;
    create index ${table}_mine on ${table} (remark)`);
  const found = await report('--queue', table);
  expect(found.findings).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        kind: 'added',
        what: expect.stringMatching(/column remark, trigger audit$/),
      }),
      expect.objectContaining({ kind: 'other-triggers', what: expect.stringContaining('shout') }),
    ]),
  );
  await adopt('--queue', table, '--yes', '--drop-old-indexes');
  await pool.query(`insert into ${table} (processo, remark) values ('greet', 'keep'); delete from ${table}`);
  expect((await pool.query(`select remark from ${table}`)).rows).toEqual([{ remark: 'keep' }]);
  expect((await pool.query(`select id from ${table}_audit`)).rows).toEqual([{ id: '1' }]);
  const { rows } = await pool.query(
    `select tgname::text from pg_trigger where tgrelid = $1::regclass order by 1`,
    [table],
  );
  expect(rows.map(({ tgname }) => tgname)).toEqual(['audit', `${table}_ring`, `${table}_schedule`, 'shout']);
  expect(Object.keys(await readIndexes(pool, table))).toContain(`${table}_mine`);
});

test('the old indexes go when that is asked for, also later', async () => {
  await createNsjTable(pool, table);
  await adopt('--yes');
  expect(Object.keys(await readIndexes(pool, table))).toHaveLength(18);
  expect(await adopt()).toMatchObject({ code: 0, stdout: expect.stringContaining('There is nothing to do') });
  expect((await report('--drop-old-indexes')).steps).toHaveLength(4);
  await adopt('--drop-old-indexes', '--yes');
  expect(Object.keys(await readIndexes(pool, table))).toHaveLength(14);
  expect(await adopt('--yes')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('was already adopted'),
  });
});

test('a table that a start has completed loses its second bell', async () => {
  await createNsjTable(pool, table);
  await createQueue(database, { queue: table });
  expect(await report()).toMatchObject({
    adopted: true,
    steps: [{ what: expect.stringContaining('replace trigger_insert_') }],
  });
  await adopt('--yes');
  const { rows } = await pool.query(
    'select tgname::text from pg_trigger where tgrelid = $1::regclass order by 1',
    [table],
  );
  expect(rows.map(({ tgname }) => tgname)).toEqual([`${table}_ring`, `${table}_schedule`]);
});
