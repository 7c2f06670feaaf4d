import type { QueueOptions } from './queue.options.js';

/** Environment variables, as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Options found in the environment, and what is wrong with some of them. */
export interface EnvironmentOptions {
  readonly options: Partial<QueueOptions>;
  readonly mistakes: readonly string[];
}

/**
 * Reads the variables that users of nsj-queue-lib know. Where a variable has two names the first one wins.
 * They stand below explicit options and above the defaults.
 */
export function readEnvironment(env: Environment): EnvironmentOptions {
  const mistakes: string[] = [];
  const text = (...names: string[]): string | undefined =>
    names.map((name) => env[name]?.trim()).find((value) => value !== undefined && value !== '');
  const number = (name: string): number | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (/^\d{1,15}(\.\d{1,9})?$/.test(value)) return Number(value);
    mistakes.push(`${name} must be a number, not ${JSON.stringify(value)}`);
    return undefined;
  };

  const driver = text('DB_DRIVER', 'DATABASE_DRIVER');
  if (driver !== undefined && driver.toUpperCase() !== 'POSTGRES') {
    mistakes.push(`DB_DRIVER (or DATABASE_DRIVER) must be POSTGRES, not ${JSON.stringify(driver)}`);
  }

  const options: { -readonly [Key in keyof QueueOptions]?: QueueOptions[Key] | undefined } = {
    connection: readConnection(env, text, mistakes),
    queue: text('QUEUE_NAME'),
    table: text('QUEUE_TABLE'),
    subscriptionTable: text('QUEUE_SUBSCRIBER_TABLE'),
    logDebug: text('LOG_DEBUG') === undefined ? undefined : text('LOG_DEBUG')?.toUpperCase() === 'TRUE',
    maxAttempts: number('QUEUE_MAX_RETRY'),
    retryIntervalMinutes: number('QUEUE_BASE_INTERVAL_RETRY'),
    retryMinutes: text('QUEUE_MINUTE_RETRY_THREAD'),
    notifyMinutes: text('QUEUE_MINUTE_NOTIFY_THREAD'),
    purgeMinutes: text('QUEUE_MINUTE_PURGE_THREAD'),
    purgeMaxAgeDays: number('QUEUE_PURGE_MAX_AGE'),
    purgeLimit: number('QUEUE_PURGE_LIMIT'),
    purgeRoundLimit: number('QUEUE_PURGE_ROUND_LIMIT'),
    waitNotifyIntervalSeconds: number('QUEUE_WAIT_NOTIFY_INTERVAL'),
  };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { options: Object.fromEntries(given) as Partial<QueueOptions>, mistakes };
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

/** All five variables or none of them. A password may be empty. */
function readConnection(
  env: Environment,
  text: (...names: string[]) => string | undefined,
  mistakes: string[],
): QueueOptions['connection'] {
  const values = new Map<string, string>();
  const missing: string[] = [];
  for (const [field, first, second] of connectionVariables) {
    const value = field === 'password' ? (env[first] ?? env[second]) : text(first, second);
    if (value === undefined) missing.push(`${first} (or ${second})`);
    else values.set(field, value);
  }
  if (values.size === 0) return undefined;
  if (missing.length > 0) {
    mistakes.push(`the connection is not complete: ${missing.join(', ')} must be set as well`);
    return undefined;
  }
  const port = Number(values.get('port'));
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    mistakes.push(`DB_PORT (or DATABASE_PORT) must be a port, not ${JSON.stringify(values.get('port'))}`);
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
