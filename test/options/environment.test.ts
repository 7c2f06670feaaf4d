import { expect, test } from 'vitest';
import { hasCode } from '../../lib/errors.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';

const needed = { connection: 'postgres://localhost/shop', queue: 'orders' } as const;

const variables = [
  { field: 'host', names: ['DB_HOST', 'DATABASE_HOST'], value: 'db.example', other: 'elsewhere' },
  { field: 'port', names: ['DB_PORT', 'DATABASE_PORT'], value: '6543', other: '1' },
  { field: 'database', names: ['DB_BASE', 'DATABASE_NAME'], value: 'shop', other: 'elsewhere' },
  { field: 'user', names: ['DB_USER', 'DATABASE_USER'], value: 'ana', other: 'elsewhere' },
  { field: 'password', names: ['DB_PASS', 'DATABASE_PASS'], value: ' secret ', other: 'elsewhere' },
] as const;

/** Every variable with a value that cannot be used; LOG_DEBUG takes any. */
const broken = {
  DB_DRIVER: 'ORACLE',
  DB_HOST: 'only-this',
  DATABASE_PORT: 'x',
  QUEUE_NAME: 'a"b',
  QUEUE_TABLE: 'a b',
  QUEUE_SUBSCRIBER_TABLE: 'a;b',
  QUEUE_MAX_RETRY: 'many',
  QUEUE_BASE_INTERVAL_RETRY: 'some',
  QUEUE_MINUTE_RETRY_THREAD: '61',
  QUEUE_MINUTE_NOTIFY_THREAD: 'x',
  QUEUE_MINUTE_PURGE_THREAD: '-1',
  QUEUE_PURGE_MAX_AGE: 'old',
  QUEUE_PURGE_LIMIT: 'x',
  QUEUE_PURGE_ROUND_LIMIT: 'x',
  QUEUE_WAIT_NOTIFY_INTERVAL: 'x',
  GRAFANA_URL: 'x',
};

type Env = Record<string, string>;

/** The connection's five variables under their first or second name. */
const named = (index: 0 | 1): Env =>
  Object.fromEntries(variables.map(({ names, value }) => [names[index], value]));

const connectionOf = (env: Env) => resolveOptions({ queue: 'orders' }, env).connection.address;

const message = (attempt: () => unknown): string => {
  try {
    attempt();
  } catch (error) {
    if (!hasCode(error, 'OPTIONS_INVALID')) throw error;
    return error.message;
  }
  throw new Error('nothing was wrong');
};

test.each([0, 1] as const)('the connection is read from the names of family %i', (family) => {
  expect(connectionOf(named(family))).toEqual({
    host: 'db.example',
    port: 6543,
    database: 'shop',
    user: 'ana',
    password: ' secret ',
  });
});

test.each(variables)(
  '$names.0 wins over $names.1, and each may stand for the other',
  ({ field, names, value, other }) => {
    const [first, second] = names;
    const { [first]: _, ...rest } = named(0);
    const expected = field === 'port' ? Number(value) : value;
    expect(connectionOf({ ...rest, [first]: value, [second]: other })).toHaveProperty(field, expected);
    expect(connectionOf({ ...rest, [second]: value })).toHaveProperty(field, expected);
  },
);

test.each(variables)('without $names.0 and $names.1 both are named', ({ names }) => {
  const [first, second] = names;
  const { [first]: _, ...rest } = named(0);
  expect(message(() => resolveOptions({ queue: 'orders' }, rest))).toBe(
    `the options of QueueModule cannot be used:\n- the connection is incomplete: ${first} (or ${second}) must also be set`,
  );
});

test('without any of them all are named', () => {
  const text = message(() => resolveOptions({}, {}));
  for (const { names } of variables) expect(text).toContain(`${names[0]} (or ${names[1]})`);
  expect(text).toContain('QUEUE_NAME, QUEUE_TABLE');
});

test.each(['0', '65536', '54.32', 'x', '-1'])('the port %j is refused', (port) => {
  expect(message(() => connectionOf({ ...named(0), DB_PORT: port }))).toContain(
    `DB_PORT (or DATABASE_PORT) must be a port, not ${JSON.stringify(port)}`,
  );
});

test('an empty password is a password, an empty host is none', () => {
  expect(connectionOf({ ...named(0), DB_PASS: '' })).toHaveProperty('password', '');
  expect(message(() => connectionOf({ ...named(0), DB_HOST: ' ' }))).toContain('DB_HOST (or DATABASE_HOST)');
});

test('without optional variables the options are the defaults', () => {
  const everyFive = [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55];
  expect(resolveOptions({}, { ...named(0), QUEUE_NAME: 'orders' })).toEqual({
    connection: { driver: 'postgres', address: expect.any(Object) },
    sessionConnection: undefined,
    queue: 'orders',
    table: 'orders',
    subscriptionTable: 'orders_subscriber',
    schema: 'create',
    layout: 'plain',
    connectRetryMs: 60_000,
    embeddedDataDir: undefined,
    worker: true,
    autoStart: true,
    concurrency: 10,
    lanes: {},
    maxLoopDelayMs: 1_000,
    pauseWhileBlocked: false,
    poolSize: 10,
    maxAttempts: 100,
    maxSnoozes: 1_000,
    retryIntervalMinutes: 5,
    retryMinutes: everyFive,
    notifyMinutes: everyFive,
    purgeMinutes: [0],
    purgeMaxAgeDays: 60,
    purgeLimit: 1_000,
    purgeRoundLimit: 100,
    waitNotifyIntervalSeconds: 30,
    wake: 'listen',
    pollIntervalMs: 30_000,
    scheduledTimer: true,
    recovery: { intervalMs: 5_000, confirmMs: 5_000, graceMs: 10_000 },
    recoveryTiming: { intervalMs: 5_000, confirmMs: 5_000, graceMs: 10_000 },
    order: 'age',
    unknownTasks: 'leave',
    halt: false,
    transaction: undefined,
    schemas: {},
    wrapHandler: undefined,
    globalEnhancers: [],
    maxPayloadBytes: 1_048_576,
    errorProperties: false,
    shutdownTimeoutMs: 20_000,
    history: true,
    logDebug: false,
  });
});

test.each([
  ['QUEUE_NAME', 'Bell', 'queue', 'Bell'],
  ['QUEUE_TABLE', 'shop.tasks', 'table', 'shop.tasks'],
  ['QUEUE_SUBSCRIBER_TABLE', 'shop.readers', 'subscriptionTable', 'shop.readers'],
  ['LOG_DEBUG', 'true', 'logDebug', true],
  ['LOG_DEBUG', ' TRUE ', 'logDebug', true],
  ['LOG_DEBUG', '1', 'logDebug', false],
  ['LOG_DEBUG', 'yes', 'logDebug', false],
  ['QUEUE_MAX_RETRY', '3', 'maxAttempts', 3],
  ['QUEUE_BASE_INTERVAL_RETRY', '0.5', 'retryIntervalMinutes', 0.5],
  ['QUEUE_MINUTE_RETRY_THREAD', '1,31', 'retryMinutes', [1, 31]],
  ['QUEUE_MINUTE_NOTIFY_THREAD', '2', 'notifyMinutes', [2]],
  ['QUEUE_MINUTE_PURGE_THREAD', '3,4', 'purgeMinutes', [3, 4]],
  ['QUEUE_PURGE_MAX_AGE', '7', 'purgeMaxAgeDays', 7],
  ['QUEUE_PURGE_LIMIT', '500', 'purgeLimit', 500],
  ['QUEUE_PURGE_ROUND_LIMIT', '9', 'purgeRoundLimit', 9],
  ['QUEUE_WAIT_NOTIFY_INTERVAL', '7', 'waitNotifyIntervalSeconds', 7],
  ['QUEUE_WAIT_NOTIFY_INTERVAL', '7', 'pollIntervalMs', 7_000],
] as const)('%s=%s is the option %s', (variable, text, option, value) => {
  const env = { ...named(0), QUEUE_NAME: 'orders', [variable]: text };
  expect(resolveOptions({}, env)).toHaveProperty(option, value);
});

test('a variable that is set to blanks is not set', () => {
  const blank = Object.fromEntries(Object.keys(broken).map((name) => [name, ' ']));
  expect(resolveOptions(needed, blank)).toEqual(resolveOptions(needed, {}));
});

test('the wait interval and the purge limit are two variables', () => {
  const options = resolveOptions(needed, { QUEUE_WAIT_NOTIFY_INTERVAL: '7', QUEUE_PURGE_LIMIT: '500' });
  expect(options).toMatchObject({ waitNotifyIntervalSeconds: 7, purgeLimit: 500 });
});

test.each(['QUEUE_MINUTE_RETRY_THREAD', 'QUEUE_MINUTE_NOTIFY_THREAD', 'QUEUE_MINUTE_PURGE_THREAD'])(
  '%s takes blanks and leading zeros, and nothing that is no minute',
  (variable) => {
    const option = `${/MINUTE_(\w+)_THREAD/.exec(variable)?.[1]?.toLowerCase()}Minutes`;
    const read = (text: string) => resolveOptions(needed, { [variable]: text });
    expect(read(' 0, 05,10 ,10,')).toHaveProperty(option, [0, 5, 10]);
    for (const wrong of ['60', '61', 'x', '-1', '1.5', '0x10', '1e1', '5 6']) {
      expect(message(() => read(`0,, ${wrong}`))).toContain(
        `${option} (${variable}) must list minutes from 0 to 59, not " ${wrong}"`,
      );
    }
  },
);

test.each([
  'QUEUE_MAX_RETRY',
  'QUEUE_BASE_INTERVAL_RETRY',
  'QUEUE_PURGE_MAX_AGE',
  'QUEUE_PURGE_LIMIT',
  'QUEUE_PURGE_ROUND_LIMIT',
  'QUEUE_WAIT_NOTIFY_INTERVAL',
])('%s must be a number in its range, and says its name', (variable) => {
  const read = (text: string) => message(() => resolveOptions(needed, { [variable]: text }));
  for (const wrong of ['many', '-1', '0x10', '1e3', 'Infinity']) {
    expect(read(wrong)).toContain(`${variable} must be a number, not "${wrong}"`);
  }
  expect(read('99999999999999')).toMatch(
    new RegExp(`\\(${variable}\\) must be a .*number from .* to .*, not 99999999999999`),
  );
});

test.each(['DB_DRIVER', 'DATABASE_DRIVER'])('%s says whose the connection is', (variable) => {
  const resolve = (driver: string) =>
    resolveOptions({ queue: 'orders' }, { ...named(0), [variable]: driver });
  const address = connectionOf(named(0));
  for (const text of ['POSTGRES', ' postgres ', '']) {
    expect(resolve(text)).toMatchObject({ connection: { driver: 'postgres', address }, wake: 'listen' });
  }
  for (const text of ['MYSQL', ' mysql ']) {
    expect(resolve(text).connection).toEqual({ driver: 'mysql', address });
    expect(resolve(text)).toMatchObject({ wake: 'kill', pollIntervalMs: 1_000 });
  }
  expect(message(() => resolve('ORACLE'))).toContain(
    'DB_DRIVER (or DATABASE_DRIVER) must be POSTGRES, MYSQL or SINGLE_STORE, not "ORACLE"',
  );
  expect(resolve('single_store').connection).toEqual({ driver: 'mysql', address, dialect: 'singlestore' });
});

test('a broken variable does not matter where an option stands in its place', () => {
  const explicit = {
    ...needed,
    table: 't',
    subscriptionTable: 's',
    maxAttempts: 2,
    retryIntervalMinutes: 1,
    retryMinutes: [1],
    notifyMinutes: [2],
    purgeMinutes: [3],
    purgeMaxAgeDays: 4,
    purgeLimit: 5,
    purgeRoundLimit: 6,
    waitNotifyIntervalSeconds: 7,
  };
  expect(resolveOptions({ ...explicit, loki: false }, broken)).toMatchObject({
    ...explicit,
    connection: { driver: 'postgres', address: explicit.connection },
  });
  // Without the options each is said, all at once; those of the connection in one line.
  const lines = message(() => resolveOptions({}, broken))
    .split('\n- ')
    .slice(1);
  expect(lines).toHaveLength(Object.keys(broken).length - 1);
});
