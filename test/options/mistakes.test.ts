import { readdirSync } from 'node:fs';
import { drizzle } from 'drizzle-orm/node-postgres';
import knex from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import { Client, Pool } from 'pg';
import { DataSource } from 'typeorm';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { hasCode } from '../../lib/errors.js';
import type { QueueOptions } from '../../lib/options/queue-options.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { makeTemporaryFolder, removeTemporaryFolders } from '../support/folders.js';
import { startApp } from '../support/queue-app.js';

const needed = { connection: 'postgres://localhost/shop', queue: 'orders', table: 'orders' } as const;

afterEach(() => void vi.unstubAllEnvs());
afterAll(removeTemporaryFolders);

/** Options as a program without types may give them. */
const resolve = (options: Readonly<Record<string, unknown>>) => resolveOptions({ ...needed, ...options }, {});

/** What is wrong, one line for each mistake. */
function mistakes(options: Readonly<Record<string, unknown>>): readonly string[] {
  try {
    resolve(options);
    return [];
  } catch (error) {
    if (!hasCode(error, 'OPTIONS_INVALID')) throw error;
    return error.message.split('\n- ').slice(1);
  }
}

const numbers = ['1', NaN, Infinity, {}, []] as const;
const flags = ['true', 1, {}] as const;
const minutes = [[60], [-1], [1.5], [NaN], [null], ['x'], [[5, 6]], 'x', '61', {}, true] as const;

test.each<readonly [option: keyof QueueOptions, wrong: readonly unknown[], right: readonly unknown[]]>([
  [
    'connection',
    ['', 'localhost/shop', 'http://localhost/shop', 'postgres://host:port/shop', 5, true],
    ['embedded', 'postgresql://h/d', 'socket:///run/pg?db=d', '/run/pg d', { host: 'h' }, 'mysql://h/d'],
  ],
  ['sessionConnection', ['', 'embedded', 'shop', 5, 'mysql://h/d'], ['postgres://h/d', {}]],
  ['queue', ['', 5], ['Bell', 'x'.repeat(63)]],
  ['table', ['', 5], ['Shop.Tasks', '_1', 'x'.repeat(50)]],
  ['subscriptionTable', ['', 'orders', true, 5, 'x'.repeat(64)], [false, 'shop.readers', 'x'.repeat(63)]],
  ['schema', ['drop', '', true], ['create', 'check']],
  ['embeddedDataDir', ['', 5], ['/tmp/data']],
  ['worker', flags, [true, false]],
  ['autoStart', flags, [true, false]],
  ['scheduledTimer', flags, [true, false]],
  ['history', flags, [true, false]],
  ['logDebug', flags, [true, false]],
  ['loki', [true, 'http://loki', 5, []], [false, {}, { url: 'http://loki/push' }]],
  ['concurrency', [0, -1, 1.5, 10_001, ...numbers], [1, 10_000]],
  ['poolSize', [0, -1, 1.5, 1_001, ...numbers], [1, 1_000]],
  ['maxAttempts', [0, -1, 1.5, 1_000_001, ...numbers], [1, 1_000_000]],
  ['retryIntervalMinutes', [-1, 525_601, ...numbers], [0, 0.5, 525_600]],
  ['retryMinutes', minutes, [[], [0, 59], '0,59', '']],
  ['notifyMinutes', minutes, [[], [0, 59], '0,59', '']],
  ['purgeMinutes', minutes, [[], [0, 59], '0,59', '']],
  ['purgeMaxAgeDays', [-1, 36_501, ...numbers], [0, 0.5, 36_500]],
  ['purgeLimit', [0, 1.5, 100_001, ...numbers], [1, 100_000]],
  ['purgeRoundLimit', [0, 1.5, 10_001, ...numbers], [1, 10_000]],
  ['waitNotifyIntervalSeconds', [0, -1, 86_401, ...numbers], [0.001, 86_400]],
  ['wake', ['bell', '', true, 'kill'], ['listen', 'poll']],
  ['pollIntervalMs', [-1, 2 ** 31, ...numbers], [0, 2 ** 31 - 1]],
  ['recovery', [true, 'fast', 5], [false, {}, { intervalMs: 10, confirmMs: 0, graceMs: 0 }]],
  ['tenantDatabases', ['yes', 5, []], [false, { resolve: () => '' }]],
  [
    'layout',
    ['ring', true, {}, { partitionIds: 9 }, { partitionIds: '20' }],
    ['plain', { partitionIds: 10 }],
  ],
  ['interop', ['river', true, '', 0, {}], ['nsj', false]],
  ['unknownTasks', ['skip', true], ['fail', 'leave']],
  ['maxPayloadBytes', [0, 1.5, 2 ** 29 + 1, ...numbers], [1, 2 ** 29]],
  ['errorProperties', ['status', 5, {}, [5]], [true, false, [], ['status', 'detail']]],
  ['connectRetryMs', [-1, 2 ** 31, ...numbers], [0, 2 ** 31 - 1]],
  ['shutdownTimeoutMs', [-1, 2 ** 31, ...numbers], [0, 2 ** 31 - 1]],
])('the option %s takes what is in its range, and says once what is not', (option, wrong, right) => {
  for (const value of right) expect(mistakes({ [option]: value })).toEqual([]);
  for (const value of wrong) {
    const found = mistakes({ [option]: value });
    expect(found, `${option}: ${JSON.stringify(value)}`).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^${option}\\b`));
  }
});

test.each([
  ['intervalMs', [9, 3_600_001, ...numbers]],
  ['confirmMs', [-1, 3_600_001, ...numbers]],
  ['graceMs', [-1, 3_600_001, ...numbers]],
])('the option recovery.%s has a range', (option, wrong) => {
  for (const value of wrong) {
    expect(mistakes({ recovery: { [option]: value } })).toEqual([
      expect.stringMatching(new RegExp(`^recovery\\.${option} must be a number from`)),
    ]);
  }
});

test.each([undefined, null])('what is given as %s is not given', (unset) => {
  // These follow from other options.
  const derived = new Set(['recoveryTiming', 'sharedServer']);
  const names = Object.keys(resolveOptions(needed, {})).filter((name) => !derived.has(name));
  const nothing = Object.fromEntries(names.filter((name) => !(name in needed)).map((name) => [name, unset]));
  expect(resolve({ ...nothing, recovery: { intervalMs: unset } })).toEqual(resolve({}));
  expect(mistakes({ connection: unset })).toEqual([expect.stringMatching(/^connection is missing/)]);
});

test('all mistakes are said at once', () => {
  expect(
    mistakes({
      connection: '',
      table: 'a b',
      concurrency: 0,
      purgeMinutes: [60, 61],
      colour: 'red',
      worker: 'no',
    }),
  ).toEqual([
    expect.stringContaining(`unknown option 'colour'`),
    expect.stringContaining('connection'),
    expect.stringContaining('table "a b"'),
    expect.stringContaining('concurrency'),
    expect.stringContaining('worker'),
    expect.stringContaining('from 0 to 59, not 60'),
    expect.stringContaining('from 0 to 59, not 61'),
  ]);
});

test('an unknown option is refused with a hint', () => {
  expect(mistakes({ Concurrency: 5 })).toEqual([`unknown option 'Concurrency': did you mean 'concurrency'?`]);
  expect(mistakes({ limiter: 5 })).toEqual([`unknown option 'limiter': see docs/reference/options.md`]);
  expect(mistakes({ retries: 5 })).toEqual([`unknown option 'retries': did you mean 'maxAttempts'?`]);
  expect(mistakes({ attempts: 5 })).toEqual([`unknown option 'attempts': did you mean 'maxAttempts'?`]);
  expect(mistakes({ concurency: 5 })).toEqual([`unknown option 'concurency': did you mean 'concurrency'?`]);
  expect(mistakes({ recovery: { intervalms: 5_000 } })).toEqual([
    `unknown option 'recovery.intervalms': did you mean 'recovery.intervalMs'?`,
  ]);
});

test.each(['development', 'test', 'staging', '', undefined])(
  "connection: 'embedded' is taken where NODE_ENV is %j",
  (nodeEnv) => {
    const options = { ...needed, connection: 'embedded' } as const;
    expect(resolveOptions(options, { NODE_ENV: nodeEnv }).connection).toMatchObject({ address: 'embedded' });
  },
);

test("connection: 'embedded' is refused in production, with what to do, and a server is taken", async () => {
  const folder = await makeTemporaryFolder();
  vi.stubEnv('NODE_ENV', 'production');
  const embedded = {
    ...needed,
    connection: process.env['NO_SUCH_URL'] ?? 'embedded',
    embeddedDataDir: folder,
  };
  const refusal = startApp({ url: '' }, embedded);
  await expect(refusal).rejects.toMatchObject({ code: 'OPTIONS_INVALID' });
  await expect(refusal).rejects.toThrow(
    /connection is 'embedded' and NODE_ENV is 'production':.*Give the URL of a server \(is DATABASE_URL missing\?\)/,
  );
  expect(readdirSync(folder)).toEqual([]);
  expect(resolveOptions(needed, process.env).connection).toMatchObject({ address: needed.connection });
});

test('a connection that cannot be used is not shown: it may hold a password', () => {
  const misread = [
    'postgres://ana:12/secret@h/d',
    'postgres://ana:12?secret@h/d',
    'postgres://ana:12#secret@h/d',
  ];
  for (const connection of [
    ...misread,
    'http://ana:secret@h/d',
    'postgres://ana:secret@h:port/d',
    'ana:secret',
  ]) {
    const found = mistakes({ connection });
    expect(found).toHaveLength(1);
    expect(found.join()).not.toContain('secret');
  }
});

test('an address of something else is named by how it begins, without its password', () => {
  const [redis = ''] = mistakes({ connection: 'redis://:secret@localhost' });
  expect(redis).toMatch(
    /^connection must be a URL that begins with postgres:\/\/.*, not one that begins with redis:\/\/$/,
  );
});

test.each<readonly [what: string, connection: object]>([
  [
    'a data source of TypeORM',
    new DataSource({ type: 'postgres', host: 'h', username: 'ana', password: 'secret' }),
  ],
  [
    'a Kysely',
    new Kysely({ dialect: new PostgresDialect({ pool: new Pool({ host: 'h', password: 'secret' }) }) }),
  ],
  ['a Drizzle', drizzle(new Pool({ host: 'h', password: 'secret' }))],
  ['a Knex', knex({ client: 'pg', connection: { host: 'h', password: 'secret' } })],
  ['a single connection of pg', new Client({ host: 'h', password: 'secret' })],
])('%s as a connection is refused, with what to give', (_, connection) => {
  const expected = [
    expect.stringMatching(/^connection must be a URL .*, not an ORM, .*: give the URL .*, or its pool$/),
  ];
  expect(mistakes({ connection })).toEqual(expected);
});

test('a pool is one, and so is a configuration of a class or of the environment alone', () => {
  class Settings {
    host = 'h';
  }
  for (const connection of [new Pool({ host: 'h' }), new Settings(), {}]) {
    expect(mistakes({ connection })).toEqual([]);
  }
});

test('a certificate that is not there is named, and a parameter may have an @ in it', () => {
  const connection = 'postgres://ana:secret@h/d?sslmode=verify-full&sslrootcert=/nope/ca.pem';
  expect(mistakes({ connection })).toEqual([
    'connection names a file that cannot be read: /nope/ca.pem (ENOENT)',
  ]);
  expect(mistakes({ connection: 'postgres://localhost/app?user=sa@project.iam' })).toEqual([]);
});

test('waking by polls alone needs polls', () => {
  expect(mistakes({ wake: 'poll', pollIntervalMs: 0 })).toHaveLength(1);
  expect(resolve({ wake: 'poll' })).toMatchObject({ pollIntervalMs: 1_000 });
});

test('the resolved options cannot be changed', () => {
  const options = resolve({ retryMinutes: [1, 2] });
  for (const part of [options, options.retryMinutes, options.recovery])
    expect(Object.isFrozen(part)).toBe(true);
});

test('an application with mistaken options does not boot, and says all of them', async () => {
  await expect(
    startApp(
      { url: 'postgres://localhost:1/nowhere' },
      { concurrency: 0, table: `x'; drop table users; --` },
    ),
  ).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringMatching(
      /^the options of QueueModule cannot be used:\n- table "x'; .*\n- concurrency/s,
    ),
  });
});
