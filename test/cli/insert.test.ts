import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { beforeEach, expect, test } from 'vitest';
import { useDatabase } from '../support/database.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { createQueue } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { runCli, type CliOptions, type CliResult } from './support.js';
import { onPostgres, testOnPostgres } from '../support/run-database.js';

const database = await useDatabase();
await createQueue(database);
const env = { DATABASE_URL: database.url, QUEUE_TABLE: 'tasks' };
const folder = await makeTemporaryFolder();

beforeEach(() => database.pool.query('truncate tasks'));

const insert = (args: readonly string[], options: CliOptions = {}): Promise<CliResult> =>
  runCli(['insert', ...args], { env, ...options });

const insertLines = (text: string | Buffer, args: readonly string[] = [], options: CliOptions = {}) =>
  insert(['--file', '-', ...args], { input: Readable.from([Buffer.from(text)]), ...options });

async function rows(columns = 'payload'): Promise<Record<string, unknown>[]> {
  return ask(`select ${columns} from tasks order by tasks.id`);
}

async function ask(sql: string): Promise<Record<string, unknown>[]> {
  return (await database.pool.query<Record<string, unknown>>(sql)).rows;
}

async function fileOf(text: string): Promise<string> {
  const path = join(folder, 'file');
  await writeFile(path, text);
  return path;
}

test('a unique key is inserted once: a second insert is an error, its id, or takes the place', async () => {
  const key = ['--topic', 'pack', '--unique', 'k', '--unique-while', 'pending'];
  const first = await insert([...key, '--payload', 'one']);
  expect(first.code).toBe(0);
  const id = first.stdout.trimEnd();
  const second = await insert(key);
  expect([second.code, second.stderr]).toEqual([
    2,
    expect.stringContaining(`task ${id} has the unique key "k"`),
  ]);
  const returned = await insert([...key, '--on-conflict', 'return', '--payload', 'two']);
  expect(returned.stdout.trimEnd()).toBe(id);
  const replaced = await insert([...key, '--on-conflict', 'replace', '--payload', 'three']);
  expect(replaced.stdout.trimEnd()).toBe(id);
  expect(await rows('payload, chave_unica')).toEqual([{ payload: 'three', chave_unica: 'p:k' }]);
  const alone = await insert(['--topic', 'pack', '--on-conflict', 'return']);
  expect(alone.stderr).toContain('--on-conflict requires --unique <key>');
});

test('lines of a file may have unique keys, of which those that are taken are passed by', async () => {
  const line = (unique: unknown): string => `${JSON.stringify({ topic: 'pack', unique })}\n`;
  const kept = line({ key: 'k', onConflict: 'return' });
  expect((await insertLines(kept + kept + line(null))).code).toBe(0);
  const stored = (await rows('chave_unica')).map((row) => row['chave_unica']);
  expect(new Set(stored)).toEqual(new Set(['v:k', null]));
  expect(stored).toHaveLength(2);
  const optioned = await insertLines(kept, ['--unique', 'k']);
  expect(optioned.stderr).toContain('--unique is for a single task');
  const refused = await insertLines(line('k'));
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining("must be 'return' when many")]);
});

test('one task from arguments is inserted as it was said, and its id printed', async () => {
  const { code, stdout, stderr } = await insert([
    ...['--topic', 'pack', '--payload', '{"n": 1}', '--external-key', 'order-1', '--priority', '-3'],
    ...['--tenant', '9223372036854775807', '--group', 'north', '--origin', 'shop', '--destination', 'mail'],
    ...['--metadata', '{"by":"hand"}', '--delay', '90s', '--max-attempts', '2', '--timeout', '5s'],
  ]);
  expect([code, stderr]).toEqual([0, '']);
  const [row] = await rows(
    `id, processo, payload, chave_externa, prioridade, tenant, grupo_empresarial, origem, destino, metadados,
     status, pub_sub, data_hora between clock_timestamp() + interval '60 s' and clock_timestamp() + interval '90 s' as later`,
  );
  expect(row).toMatchObject({
    id: stdout.trimEnd(),
    processo: 'pack',
    payload: '{"n": 1}',
    chave_externa: 'order-1',
    prioridade: -3,
    tenant: '9223372036854775807',
    grupo_empresarial: 'north',
    origem: 'shop',
    destino: 'mail',
    metadados: { by: 'hand', 'tarefa:maxAttempts': 2, 'tarefa:timeoutMs': 5_000 },
    status: 'agendada',
    pub_sub: false,
    later: true,
  });
});

test('a payload may come from a file or standard input, without the line break at its end', async () => {
  const path = await fileOf('\ufeffZoë\n\n');
  await insert(['--topic', 'a', '--payload', `@${path}`]);
  await insert(['--topic', 'a', '--payload', '-'], { input: 'from standard\r\ninput\r\n' });
  await insert(['--topic', 'a', '--payload', '']);
  await insert(['--topic', 'a']);
  await insert(['--topic', 'a', '--payload=-1']);
  expect((await rows()).map(({ payload }) => payload)).toEqual([
    'Zoë\n',
    'from standard\r\ninput',
    '',
    null,
    '-1',
  ]);
});

test('as JSON the id comes as a document', async () => {
  const { stdout } = await insert(['--topic', 'a', '--run-at', '2030-01-01T00:00:00.123456Z', '--json']);
  const [row] = await rows(`id::text, data_hora = '2030-01-01T00:00:00.123456Z' as due`);
  expect({ ...row, due: undefined }).toEqual({ ...(JSON.parse(stdout) as object), due: undefined });
  expect(row?.['due']).toBe(true);
});

test.each<[readonly string[], RegExp]>([
  [[], /give --topic for one, or --file for many/],
  [['pack'], /unexpected argument "pack"/],
  [['--topic', 'a', '--priority', 'high'], /--priority must be a whole number/],
  [['--topic', 'a', '--delay', '5'], /--delay must be a time such as 500ms.*not "5"/],
  [
    ['--topic', 'a', '--delay', '1d', '--run-at', '2030-01-01T00:00:00Z'],
    /delayMs must not be given together with runAt/,
  ],
  [['--topic', 'a', '--run-at', 'tomorrow'], /runAt must be a Date or ISO 8601/],
  [['--topic', 'a', '--tenant', 'x'], /tenant must be a whole number/],
  [['--topic', 'a', '--metadata', '[1]'], /--metadata must be a JSON object/],
  [
    ['--topic', 'a', '--metadata', '{"n":1970670598291982290}'],
    /--metadata contains a number that is too long/,
  ],
  [['--topic', 'a', '--payload', '@/nowhere/at/all'], /cannot read \/nowhere\/at\/all: no such file/],
  [['--topic', 'a', '--payload', '@/'], /cannot read \/: it is a directory/],
  [['--topic', 'a', '--skip', '3'], /--skip requires --file/],
  [['--file', '-', '--payload', 'x'], /--payload is for a single task/],
  [['--file', '/nowhere'], /cannot read \/nowhere/],
  [['--file', '-', '--batch-commit', '0'], /--batch-commit must be a whole number from 1/],
])('%j is refused, and nothing is inserted', async (args, problem) => {
  const { code, stdout, stderr } = await insert(args);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(problem);
  expect(await rows()).toEqual([]);
});

test('a payload that is too large or no text is refused before it is read to its end', async () => {
  const endless = new Readable({
    read() {
      this.push(Buffer.alloc(65_536, 'secret'));
    },
  });
  const large = await insert(['--topic', 'a', '--payload', '-'], { input: endless });
  const bytes = await insert(['--topic', 'a', '--payload', '-'], {
    input: Readable.from([Buffer.from([0xff])]),
  });
  expect([large.code, bytes.code]).toEqual([1, 1]);
  expect(large.stderr).toMatch(/larger than maxPayloadBytes \(1048576\)/);
  expect(bytes.stderr).toMatch(/in standard input is not UTF-8/);
  expect(large.stderr).not.toContain('secretsecret');
});

test('every line is a task: what it says, else what the options say', async () => {
  const lines = [
    '\ufeff{"topic":"own","payload":{"b": 1, "a": "é"},"priority":1}\r',
    '',
    '{"payload":"text"}',
    '{"payload":12345678901234567890, "tenant": "7"}',
    '{"payload":{"id": 12345678901234567890},"topic":null}',
    '{"payload":true,"runAt":"2030-01-01T00:00:00Z"}',
    '{}',
  ];
  const { code, stdout, stderr } = await insertLines(lines.join('\n'), ['--topic', 'given', '--delay', '1h']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^6 tasks inserted, ids \d+ to \d+ \(\d+\.\d s, [\d,]+ lines\/s\)\n$/);
  expect(
    await rows('processo, payload, prioridade, tenant, extract(year from data_hora)::int >= 2030 as due'),
  ).toEqual([
    { processo: 'own', payload: '{"b":1,"a":"é"}', prioridade: 1, tenant: null, due: false },
    { processo: 'given', payload: 'text', prioridade: 50, tenant: null, due: false },
    { processo: 'given', payload: '12345678901234567890', prioridade: 50, tenant: '7', due: false },
    { processo: null, payload: '{"id":12345678901234567890}', prioridade: 50, tenant: null, due: false },
    { processo: 'given', payload: 'true', prioridade: 50, tenant: null, due: true },
    { processo: 'given', payload: null, prioridade: 50, tenant: null, due: false },
  ]);
});

test('a line may have attempts and a time limit of its own', async () => {
  const lines = '{"maxAttempts":3,"timeoutMs":1000}\n{"metadata":{"by":"hand"},"maxAttempts":1}\n{}\n';
  const { code, stderr } = await insertLines(lines, ['--topic', 'given']);
  expect([code, stderr]).toEqual([0, '']);
  expect(await rows('metadados')).toEqual([
    { metadados: { 'tarefa:maxAttempts': 3, 'tarefa:timeoutMs': 1_000 } },
    { metadados: { by: 'hand', 'tarefa:maxAttempts': 1 } },
    { metadados: null },
  ]);
});

test('what is wrong with a line is said with its number and not with its payload, and nothing is inserted', async () => {
  const lines = [
    '{"topic":"fine","payload":"secret"}',
    '{"topic":"fine","payload":"secret"',
    '{"topic":"fine" "payload":"secret"}',
    'secret',
    '["secret"]',
    '{"topc":"x"}',
    '{"__proto__":{"topic":"x"}}',
    `{"payload":"${'secret'.repeat(200_000)}"}`,
    '{"payload":"a\\u0000b"}',
    '{"payload":"a\u0000b"}',
    `{"topic":"${'x'.repeat(251)}"}`,
    '{"delayMs":-1}',
    '{"runAt":"2030-01-01"}',
    '{"tenant":1.5}',
    '{"metadata":{"n":12345678901234567890}}',
  ];
  const bytes = Buffer.concat([Buffer.from(`${lines.join('\n')}\n`), Buffer.from([0xff, 0xfe])]);
  const { code, stdout, stderr } = await insertLines(bytes);
  expect([code, stdout]).toEqual([3, '']);
  expect(stderr).not.toContain('secret');
  const problems = [
    /^line 2: is not valid JSON/,
    /^line 3: is not valid JSON: error at character 17/,
    /^line 4: is not valid JSON/,
    /^line 5: must be an object such as \{"topic":"send-receipt"\}, not an array/,
    /^line 6: a task has no field "topc": did you mean 'topic'\?/,
    /^line 7: a task has no field "__proto__"$/,
    /^line 8: the payload has 1200000 bytes, more than maxPayloadBytes \(1048576\)$/,
    /^line 9: payload cannot be stored as PostgreSQL text/,
    /^line 10: is not valid JSON/,
    /^line 11: topic has more than 250 characters$/,
    /^line 12: delayMs must be a number of milliseconds/,
    /^line 13: runAt must be a Date or ISO 8601/,
    /^line 14: tenant must be a whole number/,
    /^line 15: metadata contains a number that is too long/,
    /^line 16: is not UTF-8: save the file as UTF-8$/,
    /^nothing was inserted$/,
  ];
  const said = stderr.trimEnd().split('\n');
  expect(said).toHaveLength(problems.length);
  for (const [index, problem] of problems.entries()) expect(said[index]).toMatch(problem);
  expect(await rows()).toEqual([]);
});

test('of many errors the first twenty are named, and the others counted', async () => {
  const { code, stdout } = await insertLines('{"topic":"x"}\n'.repeat(2_500) + '[]\n'.repeat(2_500), [
    '--json',
  ]);
  const report = JSON.parse(stdout) as { errors: { line: number }[] };
  expect(code).toBe(3);
  expect(report).toMatchObject({ checked: 2_500, inserted: 0, errorCount: 2_500 });
  expect(report.errors.map(({ line }) => line)).toEqual(
    Array.from({ length: 20 }, (_, index) => 2_501 + index),
  );
  expect((await insertLines('[]\n'.repeat(23))).stderr).toMatch(
    /line 20: .*\nand 3 more lines with errors\nnothing/,
  );
  expect(await rows()).toEqual([]);
});

test('what only the database refuses is found among thousands of lines', async () => {
  await database.pool.query(`alter table tasks add constraint no_evil check (payload <> 'evil')`);
  const lines = Array.from(
    { length: 5_000 },
    (_, index) => `{"payload":"${index === 3_456 ? 'evil' : index}"}`,
  );
  const { code, stderr } = await insertLines(lines.join('\n'));
  expect(code).toBe(3);
  expect(stderr).toMatch(/^line 3457: the database refused it: .*\bno_evil\b.*\nnothing was inserted\n$/);
  expect(await rows()).toEqual([]);
  await database.pool.query('alter table tasks drop constraint no_evil');
});

test('lines that the database refuses together are named together', async () => {
  await database.pool.query('create unique index once on tasks (chave_externa)');
  const { code, stderr } = await insertLines('{"externalKey":"same"}\n'.repeat(1_500));
  expect(code).toBe(3);
  expect(stderr).toMatch(/^lines 1 to 2: the database refused one of them: duplicate .*\bonce\b.*\nnothing/i);
  await database.pool.query(onPostgres ? 'drop index once' : 'drop index once on tasks');
});

test('--dry-run checks lines without a database', async () => {
  const nowhere = { env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', QUEUE_TABLE: 'tasks' } };
  const good = await insertLines('{"topic":"a"}\n{"topic":"b"}', ['--dry-run'], nowhere);
  expect(good).toMatchObject({ code: 0, stderr: '' });
  expect(good.stdout).toMatch(/^2 tasks would be inserted \(/);
  const bad = await insertLines('{"topic":"a"}\n{"topik":"b"}', ['--dry-run'], nowhere);
  expect(bad).toMatchObject({ code: 3, stdout: '' });
  expect(bad.stderr).toMatch(/^line 2: .*did you mean 'topic'\?\n1 line with errors; 1 valid task\n$/);
  const inserted = await insertLines('{"topic":"a"}', [], nowhere);
  expect(inserted.code).toBe(2);
});

test('--batch-commit keeps what was committed, and --skip goes on after it', async () => {
  const lines = Array.from({ length: 25 }, (_, index) =>
    index === 17 ? '{"no":1}' : `{"payload":"${index}"}`,
  );
  const text = `\n${lines.join('\n')}`;
  const first = await insertLines(text, ['--batch-commit', '5']);
  expect(first.code).toBe(3);
  expect(first.stderr).toMatch(
    /^line 19: .*\n15 tasks from the lines up to 16 were inserted: continue with --skip 16\n$/,
  );
  const second = await insertLines(text.replace('{"no":1}', '{"payload":"17"}'), ['--skip', '16', '--json']);
  expect(JSON.parse(second.stdout)).toMatchObject({ inserted: 10, committedThrough: 26, errorCount: 0 });
  expect((await rows()).map(({ payload }) => payload)).toEqual(lines.map((_, index) => String(index)));
});

testOnPostgres('Ctrl-C in the middle leaves nothing behind', async () => {
  const controller = new AbortController();
  const input = new PassThrough();
  const ended = insertLines('', [], { input, signal: controller.signal });
  input.write('{"payload":"a"}\n'.repeat(3_000));
  // Rows of an open transaction are in sight of nobody but the statistics of its connection.
  await until(async () => {
    const { rowCount } = await database.pool.query(
      `select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'
         and query like '%insert_many%'`,
    );
    return rowCount === 1;
  }, 'the first lines are inserted');
  controller.abort();
  const { code, stdout, stderr } = await ended;
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toBe('tarefa insert: interrupted; nothing was inserted\n');
  expect(await rows()).toEqual([]);
});

testOnPostgres(
  'a connection that is lost in the middle leaves nothing behind, and that is said',
  async () => {
    const input = new PassThrough();
    const ended = insertLines('', [], { input });
    input.write('{"payload":"a"}\n'.repeat(3_000));
    await until(async () => {
      const { rowCount } = await database.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and state = 'idle in transaction'
         and query like '%insert_many%'`,
      );
      return rowCount === 1;
    }, 'the first lines are inserted');
    input.end('{"payload":"a"}\n'.repeat(3_000));
    const { code, stderr } = await ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/; nothing was inserted\n$/);
    expect(await rows()).toEqual([]);
  },
);

test('on a terminal a bar shows how far it is; of a file it knows the end', async () => {
  const path = await fileOf('{"payload":"a"}\n'.repeat(2_499) + '{"payload":"last"}');
  const { code, stdout, stderr } = await insert(['--file', path], { terminal: 100 });
  expect(code).toBe(0);
  expect(stderr).toContain('2,500 of 2,500');
  expect(stdout).toMatch(/^2,500 tasks inserted/);
  expect(await ask('select count(*)::int as n, max(payload) as last from tasks')).toEqual([
    { n: 2_500, last: 'last' },
  ]);
});

testOnPostgres(
  '100,000 lines go through one transaction, in their order',
  async () => {
    function* lines(): Generator<Buffer> {
      for (let n = 0; n < 100_000; n += 500) {
        const some = Array.from(
          { length: 500 },
          (_, index) => `{"topic":"t","payload":{"n":${n + index}}}\n`,
        );
        yield Buffer.from(some.join(''));
      }
    }
    const { code, stdout } = await insert(['--file', '-', '--json'], { input: Readable.from(lines()) });
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as Record<string, unknown>;
    expect(report).toMatchObject({ inserted: 100_000, committedThrough: 100_000, errors: [] });
    const facts = await ask(
      `select count(*)::int as n, count(distinct xmin::text)::int as transactions, min(id)::text as first, max(id)::text as last,
       bool_and(id - (select min(id) from tasks) = (payload::json->>'n')::int) as "inOrder"
     from tasks`,
    );
    const { firstId: first, lastId: last } = report;
    expect(facts).toEqual([{ n: 100_000, transactions: 1, first, last, inOrder: true }]);
  },
  60_000,
);
