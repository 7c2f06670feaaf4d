import { queueTables as mysqlTables } from '../../storage/mysql/identifiers.js';
import { queueTables } from '../../storage/postgres/identifiers.js';
import {
  channelNameProblem,
  parseTableName,
  subscriptionTableNameProblem,
  tableNameProblem,
} from '../../values/table-name.js';
import { defaultPartitionIds } from '../../options/table-layout.js';
import { partitionedLayout } from '../../storage/postgres/partitions/partitioned-layout.js';
import { schemaScript } from '../../storage/postgres/schema/schema-statements.js';
import { UsageError, type Command, type CommandCall, type ExitCode } from '../command.js';
import { flagOption, numberOption, textOption } from '../option-values.js';
import { mysqlScript } from './mysql-script.js';

/** `tarefa db-gen`. */
export const dbGenCommand: Command = {
  name: 'db-gen',
  summary: 'prints the SQL that makes a queue, and contacts no database',
  usage: '<schema> <queue> [channel]',
  description:
    'The script holds everything: the schema, the queue table with its indexes, functions and triggers, the subscriptions ' +
    'table, the companions, the view of tasks and the entry of the version. Run it with psql, or in a migration of your ' +
    "own; running it again changes nothing. Applications then start with schema: 'check'.\n\n" +
    "The channel is the queue's name unless it is given. More arguments are ignored. A queue that is in use is brought up " +
    'to date by `tarefa migrate`, which keeps nobody waiting.\n\n' +
    'With --database mysql it is for MySQL and MariaDB, whose client `mysql` runs it: the schema is a database then, and ' +
    'there are no channels.',
  options: {
    database: {
      type: 'string',
      value: '<which>',
      choices: ['postgres', 'mysql'],
      description: 'which SQL: `postgres` or `mysql`. Default: postgres',
    },
    webhooks: { type: 'boolean', description: 'with the table that webhooks need' },
    partitioned: {
      type: 'boolean',
      description: 'divided into partitions, which purge drops whole. Only PostgreSQL',
    },
    every: {
      type: 'string',
      value: '<ids>',
      description: `ids of each partition. Default: ${defaultPartitionIds}`,
    },
    'no-subscriptions': { type: 'boolean', description: 'without a subscriptions table' },
  },
  examples: [
    'tarefa db-gen public shop_queue | psql shop',
    'tarefa db-gen jobs orders --webhooks > orders.sql',
    'tarefa db-gen shop orders --database mysql | mysql',
  ],
  run: async (call) => print(call),
};

function print({ positionals, options, output }: CommandCall): ExitCode {
  const [schema, queue, channel = textOption(options, 'queue') ?? queue] = positionals;
  if (schema === undefined || queue === undefined || channel === undefined) {
    throw new UsageError(`${schema === undefined ? 'a schema and a queue are' : 'a queue is'} needed`);
  }
  const subscriptions = flagOption(options, 'no-subscriptions')
    ? undefined
    : (textOption(options, 'subscriptions') ?? `${queue}_subscriber`);
  refuse('schema', schema, schema.includes('.') ? 'has a dot' : subscriptionTableNameProblem(schema));
  refuse('queue', queue, queue.includes('.') ? 'has a dot' : tableNameProblem(queue));
  refuse('channel', channel, channelNameProblem(channel));
  if (subscriptions !== undefined) {
    refuse('subscriptions table', subscriptions, subscriptionTableNameProblem(subscriptions));
  }
  const named = subscriptions === undefined ? undefined : parseTableName(subscriptions, () => undefined);
  const placed = named && { schema: named.schema ?? schema, table: named.table };
  const every = numberOption(options, 'every', { least: 10, most: 1_000_000_000, whole: true });
  const isPartitioned = flagOption(options, 'partitioned');
  if (every !== undefined && !isPartitioned) throw new UsageError('--every needs --partitioned');
  const webhooks = flagOption(options, 'webhooks');
  const isMysql = isForMysql(textOption(options, 'database'));
  if (isMysql && isPartitioned) throw new UsageError('only tables in PostgreSQL are divided into partitions');
  const script = isMysql
    ? mysqlScript(mysqlTables(schema, queue, placed), webhooks)
    : schemaScript(queueTables(schema, queue, placed), channel, {
        webhooks,
        ...(isPartitioned && { layout: partitionedLayout(every) }),
      });
  output.text(script);
  output.json({ schema, queue, channel, subscriptions: subscriptions ?? null, script });
  return 0;
}

function isForMysql(database = 'postgres'): boolean {
  if (database === 'postgres' || database === 'mysql') return database === 'mysql';
  throw new UsageError(`--database must be postgres or mysql, not ${JSON.stringify(database)}`);
}

function refuse(what: string, name: string, problem: string | undefined): void {
  if (problem !== undefined) throw new UsageError(`the ${what} ${JSON.stringify(name)} ${problem}`);
}
