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
  summary: 'prints the SQL that creates a queue, and contacts no database',
  usage: '<schema> <queue> [channel]',
  description:
    'The script contains everything: the schema, the queue table with its indexes, functions and triggers, the subscriptions ' +
    'table, the companions, the view of tasks and the version entry. Run it with psql, or in a migration of your ' +
    "own; running it again changes nothing. Applications then start with schema: 'check'.\n\n" +
    "The channel is the queue's name unless it is given. Further arguments are ignored. To upgrade a queue that is in use, " +
    'run `tarefa migrate`, which keeps nobody waiting.\n\n' +
    'With --database mysql the script is for MySQL and MariaDB, and is run with the client `mysql`: the schema is then a ' +
    'database, and there are no channels.',
  options: {
    database: {
      type: 'string',
      value: '<which>',
      choices: ['postgres', 'mysql'],
      description: 'the SQL dialect: `postgres` or `mysql`. Default: postgres',
    },
    webhooks: { type: 'boolean', description: 'also creates the table for webhooks' },
    partitioned: {
      type: 'boolean',
      description: 'partitions the table, so that purge drops whole partitions. Only PostgreSQL',
    },
    every: {
      type: 'string',
      value: '<ids>',
      description: `ids per partition. Default: ${defaultPartitionIds}`,
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
    throw new UsageError(`${schema === undefined ? 'a schema and a queue are' : 'a queue is'} required`);
  }
  const subscriptions = flagOption(options, 'no-subscriptions')
    ? undefined
    : (textOption(options, 'subscriptions') ?? `${queue}_subscriber`);
  refuse('schema', schema, schema.includes('.') ? 'contains a dot' : subscriptionTableNameProblem(schema));
  refuse('queue', queue, queue.includes('.') ? 'contains a dot' : tableNameProblem(queue));
  refuse('channel', channel, channelNameProblem(channel));
  if (subscriptions !== undefined) {
    refuse('subscriptions table', subscriptions, subscriptionTableNameProblem(subscriptions));
  }
  const named = subscriptions === undefined ? undefined : parseTableName(subscriptions, () => undefined);
  const placed = named && { schema: named.schema ?? schema, table: named.table };
  const every = numberOption(options, 'every', { least: 10, most: 1_000_000_000, whole: true });
  const isPartitioned = flagOption(options, 'partitioned');
  if (every !== undefined && !isPartitioned) throw new UsageError('--every requires --partitioned');
  const webhooks = flagOption(options, 'webhooks');
  const isMysql = isForMysql(textOption(options, 'database'));
  if (isMysql && isPartitioned) throw new UsageError('only PostgreSQL tables can be partitioned');
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
