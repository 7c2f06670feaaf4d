import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { errorTable } from '../../lib/index.js';
import { readEnvironment } from '../../lib/options/environment.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { statusColumn } from '../../lib/storage/columns.js';
import {
  contractColumns,
  ownColumns,
  subscriptionColumns,
} from '../../lib/storage/postgres/schema/schema.js';
import * as mysql from '../../lib/storage/mysql/schema/schema.js';
import { useDatabase } from '../support/database.js';
import { createQueue } from '../support/queue-app.js';
import { documentAt, documents, pathOf } from './documents.js';
import { readInterface } from './interfaces.js';

const database = await useDatabase();
const options = readInterface('lib/options/queue-options.ts', 'QueueOptions');
const given = { connection: 'postgres://localhost/shop', queue: 'shop_queue' };

/** Defaults that are said in words. */
const words: Readonly<Record<string, unknown>> = {
  'every 5': [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55],
  '1 MiB': 1_048_576,
  '`<table>_subscriber`': 'shop_queue_subscriber',
  'the name of the `table`': 'shop_queue',
  'the name of the `queue`': 'shop_queue',
  '`concurrency`, at most 10': 10,
  "`waitNotifyIntervalSeconds` with `wake: 'listen'`, else 1000": 30_000,
  '`listen`, on MySQL and MariaDB `kill`': 'listen',
  '`{ intervalMs: 5000, confirmMs: 5000, graceMs: 10000 }`': {
    intervalMs: 5_000,
    confirmMs: 5_000,
    graceMs: 10_000,
  },
  'they commit alone': undefined,
  'no topic has one': {},
  'no lane': {},
  'nothing does': undefined,
  "they go to Nest's logger alone": undefined,
  'they do not': undefined,
  'none of them': [],
  'true with `interop`, else false': false,
  'they are not': undefined,
  'it is not': undefined,
  'there are none': undefined,
  // Left to what comes later: nothing is set.
  '`connection`': undefined,
  '`.tarefa` in the working directory': undefined,
};

test('the defaults that the comments and the documents name are those that apply', () => {
  const resolved = resolveOptions(given, {}) as unknown as Record<string, unknown>;
  const named = options.filter(({ fallback }) => fallback !== undefined);
  expect(Object.fromEntries(named.map(({ name, fallback = '' }) => [name, valueOf(name, fallback)]))).toEqual(
    Object.fromEntries(named.map(({ name }) => [name, resolved[name]])),
  );
});

test('every option names its variable, and every variable is named', () => {
  const pairs = options
    // These take several: they have tests of their own.
    .filter(({ name }) => name !== 'connection' && name !== 'bell')
    .flatMap(({ name, variables }) => variables.map((variable) => [variable, name] as const));
  const read = pairs.map(([variable]) => {
    const { options: found } = readEnvironment({ [variable]: variable === 'LOG_DEBUG' ? 'TRUE' : '7' });
    return [variable, Object.keys(found).join()] as const;
  });
  expect(read).toEqual(pairs);
});

test.each(['docs/reference/options.md', 'docs/guides/from-nsj-queue-lib.md'])(
  '%s names every variable that is read',
  (path) => {
    const files = ['lib/options/environment.ts', 'lib/options/tenant-environment.ts'];
    const source = files.map((file) => readFileSync(pathOf(file), 'utf8')).join('\n');
    const variables = [...source.matchAll(/'([A-Z]+_[A-Z_]+)'/g)].map(([, variable = '']) => variable);
    expect(variables.length).toBeGreaterThan(20);
    expect(variables.filter((variable) => !documentAt(path).text.includes(`\`${variable}\``))).toEqual([]);
  },
);

test('every variable of nsj-queue-lib is in its guide, also those that mean nothing here', () => {
  const all = [
    ...['DB_HOST', 'DB_PORT', 'DB_BASE', 'DB_USER', 'DB_PASS', 'DB_DRIVER'],
    ...['HOST', 'PORT', 'NAME', 'USER', 'PASS', 'DRIVER'].map((name) => `DATABASE_${name}`),
    ...[
      'QUEUE_NAME',
      'QUEUE_TABLE',
      'QUEUE_SUBSCRIBER_TABLE',
      'QUEUE_MAX_RETRY',
      'QUEUE_BASE_INTERVAL_RETRY',
    ],
    ...['RETRY', 'PURGE', 'NOTIFY'].map((name) => `QUEUE_MINUTE_${name}_THREAD`),
    ...['QUEUE_PURGE_MAX_AGE', 'QUEUE_PURGE_LIMIT', 'QUEUE_PURGE_ROUND_LIMIT', 'QUEUE_WAIT_NOTIFY_INTERVAL'],
    ...['LOG_DEBUG', 'DEFAULT_WEBHOOK_TIMEOUT', 'ENV', 'GRAFANA_URL', 'OAUTH_TOKEN_URL'],
    ...['', '_USER', '_PASSWORD', '_CLIENT_ID', '_API_CREDETIALS_URL'].map((name) => `MULTI_DATABASE${name}`),
    ...['CLIENT_SERVER_MODE', 'SERVER_HOST', 'MAX_CLIENT_THREADS', 'CHECK_TASKS_INTERVAL'],
    ...[
      'LOCK_SERVICE_WAIT_CONN_INTERVAL',
      'NOTIFY_SERVICE_PORT',
      'LOCK_SERVICE_PORT',
      'TIMEOUT_SOCKET_MESSAGE',
    ],
  ];
  const { text } = documentAt('docs/guides/from-nsj-queue-lib.md');
  expect(all.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

test('the tables of columns are those of the schema', () => {
  const described = ({ name, type, rest = '' }: { name: string; type: string; rest?: string }): string[] => [
    name,
    type,
    rest.replace('primary key', name === 'id' && type === 'bigint' ? 'sequence' : 'primary key'),
  ];
  expect(rowsOf('docs/reference/table.md', 'columns').map(withoutMeaning)).toEqual(
    [...contractColumns, ...ownColumns].map(described),
  );
  expect(rowsOf('docs/reference/table.md', 'subscription-columns').map(withoutMeaning)).toEqual(
    subscriptionColumns.map(described),
  );
});

test('the types on MySQL, the computed columns and the indexes are those of the schema there', () => {
  const path = 'docs/reference/table.md';
  const typed = ({ name, type }: mysql.ColumnDefinition): string[] => [name, type];
  const documented = (section: string): string[][] =>
    rowsOf(path, section).map(([name = '', , type = '']) => [name, type]);
  expect(documented('columns')).toEqual([...mysql.contractColumns, ...mysql.ownColumns].map(typed));
  expect(documented('subscription-columns')).toEqual(mysql.subscriptionColumns.map(typed));
  expect(rowsOf(path, 'computed-columns').map((row) => row.slice(0, 2))).toEqual(
    mysql.computedColumns.map(typed),
  );
  expect(rowsOf(path, 'mysql-indexes').map((row) => row.slice(0, 3))).toEqual(
    mysql.queueIndexes.map(({ name, unique = false, on }) => [name, unique ? 'yes' : '', on.slice(1, -1)]),
  );
});

test('the table of statuses is that of the library', () => {
  const documented = rowsOf('docs/reference/table.md', 'statuses').map(([column, name]) => [name, column]);
  expect(Object.fromEntries(documented)).toEqual(statusColumn);
});

test('the table of the view is that of the view, and each of its columns holds what it says', async () => {
  await createQueue(database, { queue: 'shop_queue' });
  const documented = rowsOf('docs/reference/table.md', 'view');
  const { fields } = await database.pool.query('select * from shop_queue_tasks');
  expect(documented.map(([name]) => name)).toEqual(fields.map(({ name }) => name));
  const { rows } = await database.pool.query<{ definition: string }>(
    "select pg_get_viewdef('shop_queue_tasks'::regclass) as definition",
  );
  const definition = rows[0]?.definition.toLowerCase() ?? '';
  const plain = documented.filter(([, from = '']) => /^\w+$/.test(from));
  expect(plain.length).toBeGreaterThan(20);
  for (const [name = '', from = ''] of plain) {
    expect(definition).toMatch(new RegExp(`\\b${from}${from === name ? '' : ` as ${name}`}\\b`));
  }
});

test('codes of errors that the documents name exist', () => {
  const code = /`((?:TASK|WORKER|SCHEMA|PAYLOAD|OPTIONS|TRANSACTION|HANDLER)_[A-Z_]+)`/g;
  const named = documents.flatMap(({ prose }) => [...prose.matchAll(code)].map(([, name = '']) => name));
  expect(named.filter((name) => !Object.hasOwn(errorTable, name))).toEqual([]);
});

/** What a default in a comment means. */
function valueOf(name: string, fallback: string): unknown {
  if (fallback in words) return words[fallback];
  if (name === 'purgeMinutes') return [Number(fallback)];
  if (/^`\w+`$/.test(fallback)) return fallback.slice(1, -1);
  return JSON.parse(fallback) as unknown;
}

/** Cells of a table between two marks, without their backticks. */
function rowsOf(path: string, name: string): string[][] {
  const { text } = documentAt(path);
  const section = text.slice(text.indexOf(`<!-- ${name}:start -->`), text.indexOf(`<!-- ${name}:end -->`));
  return section
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
}

/** `not null`, `0` becomes `not null default 0`, as the schema writes it. */
function withoutMeaning([name = '', type = '', , fallback = '']: string[]): string[] {
  if (fallback === '' || fallback === 'sequence' || fallback === 'primary key') return [name, type, fallback];
  const [first = '', second] = fallback.split(', ');
  if (first === 'not null') return [name, type, second === undefined ? first : `not null default ${second}`];
  return [name, type, `default ${first}`];
}
