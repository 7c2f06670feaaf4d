import { migrate, planMigration, type MigrationPlan } from '../../storage/postgres/migration/migrate.js';
import { defaultPartitionIds } from '../../options/table-layout.js';
import { partitionTable, planPartitioning } from '../../storage/postgres/partitions/partition-table.js';
import { schemaVersion } from '../../storage/postgres/schema/schema.js';
import { UsageError, type Command, type CommandCall, type ExitCode } from '../command.js';
import { flagOption, numberOption } from '../option-values.js';
import type { Output } from '../output/output.js';
import { migrateMysql } from './migrate-mysql.js';
import {
  printSteps,
  queueNames,
  refuseWithoutRights,
  stepLines,
  stepReports,
  withSchemaSession,
  type StepReport,
} from './schema-work.js';

/** `tarefa migrate`. */
export const migrateCommand: Command = {
  name: 'migrate',
  summary: "creates a queue's tables, or upgrades them while they are in use",
  usage: '[--plan | --check] [--partition]',
  description:
    'Steps that lock the queue table do so for an instant: they wait at most two seconds for the lock, and are then retried. ' +
    'Indexes are built concurrently. If it was interrupted, run the command again to continue; two runs at the same time take ' +
    'turns. A database of a newer version is refused. On MySQL and MariaDB it creates what is missing.\n\n' +
    'Exit code 3 with --check when there is something to do. For tables of nsj-queue-lib, use `tarefa adopt`.',
  options: {
    plan: { type: 'boolean', description: 'only prints what would be done, and with which locks' },
    check: { type: 'boolean', description: 'the same, with exit code 3 when there is something to do' },
    webhooks: { type: 'boolean', description: 'also creates the table for webhooks' },
    partition: {
      type: 'boolean',
      description:
        'partitions the table, so that purge drops whole partitions; the present table becomes the first one. Only PostgreSQL',
    },
    every: {
      type: 'string',
      value: '<ids>',
      description: `ids per partition. Default: ${defaultPartitionIds}`,
    },
  },
  examples: [
    'tarefa migrate',
    'tarefa migrate --plan',
    'tarefa migrate --partition --every 500000',
    'tarefa migrate --check --table jobs.orders',
  ],
  run,
};

async function run(call: CommandCall): Promise<ExitCode> {
  const { options, output } = call;
  const isCheck = flagOption(options, 'check');
  const isPlan = flagOption(options, 'plan');
  const isPartition = flagOption(options, 'partition');
  const every = numberOption(options, 'every', { least: 10, most: 1_000_000_000, whole: true });
  if (every !== undefined && !isPartition) throw new UsageError('--every requires --partition');
  if (isCheck && isPlan) throw new UsageError('give --plan or --check, not both');
  const database = await call.database();
  if (database.driver === 'mysql') {
    if (isPartition) throw new UsageError('only PostgreSQL tables can be partitioned');
    return migrateMysql(call, database);
  }
  const names = queueNames(database.options, flagOption(options, 'webhooks'));
  return withSchemaSession(call, database, async (session) => {
    if (isCheck || isPlan) {
      const plan = await (isPartition
        ? planPartitioning(session, names, every)
        : planMigration(session, names));
      sayWhereItStands(output, plan);
      printSteps(output, plan.steps);
      output.json(reportOf(plan, stepReports(plan.steps), false));
      return isCheck && plan.steps.length > 0 ? 3 : 0;
    }
    let reports: StepReport[] = [];
    const work = isPartition ? partitionTable : migrate;
    const plan = await work(session, names, {
      every,
      onPlan: async (planned) => {
        sayWhereItStands(output, planned);
        if (planned.steps.length > 0) await refuseWithoutRights(session, planned.tables);
        reports = stepReports(planned.steps);
      },
      onEnd: (...step) => stepLines(output, reports).onEnd?.(...step),
    });
    if (plan.steps.length > 0) output.line(`${plan.tables.qualifiedName} is up to date`);
    output.json(reportOf(plan, reports, true));
    return 0;
  });
}

function sayWhereItStands(output: Output, { tables, version, rows, steps }: MigrationPlan): void {
  const where = version === undefined ? 'not found' : `version ${version} of ${schemaVersion}`;
  const size = rows > 0 ? `, about ${rows.toLocaleString('en-US')} rows` : '';
  output.line(`${tables.qualifiedName}: ${where}${size}${steps.length === 0 ? ', nothing to do' : ''}`);
}

function reportOf(plan: MigrationPlan, steps: readonly StepReport[], isDone: boolean): unknown {
  return {
    table: plan.tables.qualifiedName,
    version: plan.version ?? null,
    wantedVersion: schemaVersion,
    rows: plan.rows,
    upToDate: isDone || steps.length === 0,
    steps,
  };
}
