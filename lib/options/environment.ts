import type { QueueOptions } from './queue-options.js';
import type { Environment } from './variables.js';

/** A variable that cannot be used, and the option it stands for. */
export interface EnvironmentMistake {
  readonly option: string;
  readonly text: string;
}

/** Options found in the environment, and what is wrong with some of them. */
export interface EnvironmentOptions {
  readonly options: Partial<QueueOptions>;
  readonly mistakes: readonly EnvironmentMistake[];
}

const textVariables = {
  queue: 'QUEUE_NAME',
  table: 'QUEUE_TABLE',
  subscriptionTable: 'QUEUE_SUBSCRIBER_TABLE',
  retryMinutes: 'QUEUE_MINUTE_RETRY_THREAD',
  notifyMinutes: 'QUEUE_MINUTE_NOTIFY_THREAD',
  purgeMinutes: 'QUEUE_MINUTE_PURGE_THREAD',
} as const satisfies { [Option in keyof QueueOptions]: string };

const numberVariables = {
  maxAttempts: 'QUEUE_MAX_RETRY',
  retryIntervalMinutes: 'QUEUE_BASE_INTERVAL_RETRY',
  purgeMaxAgeDays: 'QUEUE_PURGE_MAX_AGE',
  purgeLimit: 'QUEUE_PURGE_LIMIT',
  purgeRoundLimit: 'QUEUE_PURGE_ROUND_LIMIT',
  waitNotifyIntervalSeconds: 'QUEUE_WAIT_NOTIFY_INTERVAL',
} as const satisfies { [Option in keyof QueueOptions]: string };

/** For messages: the variable of an option that has one. */
export const optionVariables: Readonly<Record<string, string>> = { ...textVariables, ...numberVariables };

/**
 * Reads the variables that users of nsj-queue-lib know. Where a variable has two names the first one wins.
 * They stand below explicit options and above the defaults.
 */
export function readEnvironment(env: Environment): EnvironmentOptions {
  const mistakes: EnvironmentMistake[] = [];
  const text = (...names: string[]): string | undefined =>
    names.map((name) => env[name]?.trim()).find((value) => value !== undefined && value !== '');
  const number = (option: string, name: string): number | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (/^\d{1,15}(\.\d{1,9})?$/.test(value)) return Number(value);
    mistakes.push({ option, text: `${name} must be a number, not ${JSON.stringify(value)}` });
    return undefined;
  };
  const mistakenConnection = (problem: string): void =>
    void mistakes.push({ option: 'connection', text: problem });

  const driver = text('DB_DRIVER', 'DATABASE_DRIVER');
  const problem = driverProblem(driver);
  if (problem !== undefined) mistakenConnection(problem);
  const debug = text('LOG_DEBUG');
  const found: readonly (readonly [option: string, value: unknown])[] = [
    ['connection', withDriver(driver, readConnection(env, text, mistakenConnection))],
    ...Object.entries(textVariables).map(([option, name]) => [option, text(name)] as const),
    ...Object.entries(numberVariables).map(([option, name]) => [option, number(option, name)] as const),
    ['logDebug', debug === undefined ? undefined : debug.toUpperCase() === 'TRUE'],
  ];
  const options = Object.fromEntries(found.filter(([, value]) => value !== undefined));
  return { options, mistakes };
}

/** True where workers of nsj-queue-lib are woken and kept apart by a server; those of this library are woken by it. */
export function isClientServerMode(env: Environment): boolean {
  return env['CLIENT_SERVER_MODE']?.trim().toUpperCase() === 'TRUE';
}

/** What a worker does otherwise than is expected of its variables: said at the start. */
export function environmentWarnings(env: Environment, interop: 'nsj' | undefined): readonly string[] {
  if (!isClientServerMode(env) || interop) return [];
  return [
    "CLIENT_SERVER_MODE is TRUE, but without interop: 'nsj' this worker keeps its locks in the database, not in the server of that mode: " +
      'do not let workers of nsj-queue-lib in that mode serve the same table, or tasks will run several times',
  ];
}

/** For an option inside of another one. Given in seconds, as users of nsj-queue-lib know it. */
export function readWebhookTimeoutMs(
  env: Environment,
  mistaken: (problem: string) => void,
): number | undefined {
  const text = env['DEFAULT_WEBHOOK_TIMEOUT']?.trim();
  if (!text) return undefined;
  if (/^\d{1,4}(\.\d{1,3})?$/.test(text) && Number(text) > 0) return Math.round(Number(text) * 1_000);
  mistaken(`DEFAULT_WEBHOOK_TIMEOUT must be a number of seconds, not ${JSON.stringify(text)}`);
  return undefined;
}

const connectionVariables = [
  ['host', 'DB_HOST', 'DATABASE_HOST'],
  ['port', 'DB_PORT', 'DATABASE_PORT'],
  ['database', 'DB_BASE', 'DATABASE_NAME'],
  ['user', 'DB_USER', 'DATABASE_USER'],
  ['password', 'DB_PASS', 'DATABASE_PASS'],
] as const;

/** For messages: which variables make a connection. */
export const connectionVariableNames = connectionVariables.map(
  ([, first, second]) => `${first} (or ${second})`,
);

/** Why the driver cannot be used; undefined when it can, or is not said. */
function driverProblem(driver = 'POSTGRES'): string | undefined {
  const name = driver.toUpperCase();
  if (name === 'POSTGRES' || name in drivers) return undefined;
  return `DB_DRIVER (or DATABASE_DRIVER) must be POSTGRES, MYSQL or SINGLE_STORE, not ${JSON.stringify(driver)}`;
}

/** Those that a connection has to name. */
const drivers: Readonly<Record<string, 'mysql' | 'singlestore'>> = {
  MYSQL: 'mysql',
  SINGLE_STORE: 'singlestore',
};

/** The variables of a connection are the same for all drivers. */
function withDriver(
  driver: string | undefined,
  connection: ServerAddress | undefined,
): QueueOptions['connection'] {
  const named = drivers[driver?.toUpperCase() ?? ''];
  return connection && named ? { driver: named, ...connection } : connection;
}

/** What the variables say of a connection. */
interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
}

/** All five variables or none of them. A password may be empty. */
function readConnection(
  env: Environment,
  text: (...names: string[]) => string | undefined,
  mistaken: (problem: string) => void,
): ServerAddress | undefined {
  const values = new Map<string, string>();
  const missing: string[] = [];
  for (const [field, first, second] of connectionVariables) {
    const value = field === 'password' ? (env[first] ?? env[second]) : text(first, second);
    if (value === undefined) missing.push(`${first} (or ${second})`);
    else values.set(field, value);
  }
  if (values.size === 0) return undefined;
  if (missing.length > 0) {
    mistaken(`the connection is incomplete: ${missing.join(', ')} must also be set`);
    return undefined;
  }
  // Not shown: what was meant for another variable may hold a password.
  if (/:\/\/|@/.test(values.get('host') ?? '')) {
    mistaken('DB_HOST (or DATABASE_HOST) must be a host name or address, not a URL');
    return undefined;
  }
  const port = Number(values.get('port'));
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    mistaken(`DB_PORT (or DATABASE_PORT) must be a port, not ${JSON.stringify(values.get('port'))}`);
    return undefined;
  }
  return {
    host: values.get('host') ?? '',
    port,
    database: values.get('database') ?? '',
    user: values.get('user') ?? '',
    password: values.get('password') ?? '',
  };
}
