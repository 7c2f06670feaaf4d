import { connectionVariableNames } from '../options/environment.js';
import type { Environment } from '../options/variables.js';
import type { QueueOptions } from '../options/queue-options.js';
import { numberOption } from './option-values.js';
import { UsageError, type CommandOption, type OptionValues } from './command.js';

/** What every command takes. */
export const commonOptions: Readonly<Record<string, CommandOption>> = {
  url: {
    type: 'string',
    value: '<url>',
    description: `the database: postgres://user:password@host:port/database, the same with mysql:// or mariadb://, or \`embedded\`. Default: DATABASE_URL, else ${connectionVariableNames.join(', ')} and DB_DRIVER`,
  },
  table: {
    type: 'string',
    value: '<name>',
    description: 'the queue table, optionally with its schema. Default: QUEUE_TABLE',
  },
  queue: {
    type: 'string',
    value: '<channel>',
    description: "the queue's notification channel, if it is not the table's name. Default: QUEUE_NAME",
  },
  subscriptions: {
    type: 'string',
    value: '<table>',
    description: 'the subscriptions table. Default: QUEUE_SUBSCRIBER_TABLE, else `<table>_subscriber`',
  },
  'connect-retry': {
    type: 'string',
    value: '<seconds>',
    description:
      'how long to wait for a server that is unreachable or starting. Default: 0, and 60 for `worker` and `server`',
  },
  utc: { type: 'boolean', description: 'shows times in UTC instead of the time zone of this computer' },
  json: { type: 'boolean', description: 'prints the result as JSON' },
  help: { type: 'boolean', short: 'h', description: 'shows this help' },
};

/** For commands that change waiting tasks. */
export const interopOption: Readonly<Record<string, CommandOption>> = {
  interop: {
    type: 'boolean',
    description:
      'workers of nsj-queue-lib also serve the table: changes of scheduled tasks take turns with their notify job',
  },
};

/**
 * Which queue is meant: options, then variables.
 *
 * @throws {UsageError} when no database or no queue is given
 */
export function readQueueOptions(values: OptionValues, env: Environment): QueueOptions {
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  const variable = (name: string): string | undefined => env[name]?.trim() || undefined;
  const connection = text(values['url']) ?? variable('DATABASE_URL');
  const table = text(values['table']);
  const queue = text(values['queue']);
  const subscriptionTable = text(values['subscriptions']);
  if (connection === undefined && !connectionNames().some((name) => variable(name) !== undefined)) {
    throw new UsageError(
      `no database given: pass --url, or set DATABASE_URL, or ${connectionVariableNames.join(', ')}`,
    );
  }
  if ((table ?? queue ?? variable('QUEUE_TABLE') ?? variable('QUEUE_NAME')) === undefined) {
    throw new UsageError('no queue given: pass --table or --queue, or set QUEUE_TABLE or QUEUE_NAME');
  }
  return {
    // The command line looks; it makes tables only by the commands that say so.
    schema: 'check',
    worker: false,
    // At a terminal a server that does not answer is shown at once.
    connectRetryMs: readConnectRetry(values) ?? 0,
    ...(connection === undefined ? {} : { connection }),
    ...(table === undefined ? {} : { table }),
    ...(queue === undefined ? {} : { queue }),
    ...(subscriptionTable === undefined ? {} : { subscriptionTable }),
    ...(values['interop'] === true ? { interop: 'nsj' } : {}),
  };
}

/** In ms; undefined where nothing is said. */
export function readConnectRetry(values: OptionValues): number | undefined {
  const seconds = numberOption(values, 'connect-retry', { least: 0, most: 86_400, whole: false });
  return seconds === undefined ? undefined : Math.round(seconds * 1_000);
}

function connectionNames(): readonly string[] {
  return connectionVariableNames.flatMap((names) => names.match(/[A-Z_]+/g) ?? []);
}
