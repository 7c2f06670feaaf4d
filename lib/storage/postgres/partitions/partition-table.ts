import { TarefaError } from '../../../errors.js';
import type { QueueTables } from '../identifiers.js';
import type { QueueNames } from '../schema/inspect-schema.js';
import { planMigration, type MigrationPlan } from '../migration/migrate.js';
import { qualifiedIndex } from '../migration/schema-shape.js';
import type { SchemaSession } from '../migration/schema-session.js';
import { locks, runSteps, shortStep, type Step, type StepHooks } from '../migration/step.js';
import { indexSql, ownName } from '../schema/schema-objects.js';
import { defaultPartitionIds } from '../../../options/table-layout.js';
import { partitionedIndexes, partitionName } from './partitioned-layout.js';
import { idRoom, quotedLimit } from './id-limit.js';
import { makePartitions } from './make-partitions.js';
import { readPartitions } from './read-partitions.js';
import { asideName, oldIndexName, switchToPartitions } from './switch-to-partitions.js';
import { surveyTable, type TableSurvey } from './table-survey.js';

/**
 * Plans how a plain queue table becomes partitioned while it is used: it becomes the first partition itself, so that no row
 * is written. For a partitioned table, plans what is left to do. Changes nothing.
 *
 * @param every ids of a partition
 * @throws {TarefaError} `SCHEMA_CONFLICT` for a table that is not up to date, or would lose something
 */
export async function planPartitioning(
  session: SchemaSession,
  names: QueueNames,
  every = defaultPartitionIds,
): Promise<MigrationPlan> {
  const plan = await planMigration(session, names);
  const { tables } = plan;
  if (plan.steps.length > 0) {
    throw new TarefaError(
      'SCHEMA_CONFLICT',
      `${tables.qualifiedName} is not up to date (${plan.steps.length} steps): run \`npx tarefa migrate\` first`,
    );
  }
  const survey = await surveyTable(session, tables);
  const partitions = await readPartitions(session, tables);
  const steps = partitions
    ? [...dropSteps(tables, survey.leftOvers), ...aheadSteps(tables)]
    : partitioningSteps(tables, names, survey, BigInt(every));
  return { ...plan, steps };
}

/** Runs the plan. Run again after an interruption, it goes on. */
export async function partitionTable(
  session: SchemaSession,
  names: QueueNames,
  {
    every,
    ...hooks
  }: StepHooks & {
    readonly every?: number | undefined;
    readonly onPlan?: (plan: MigrationPlan) => void | Promise<void>;
  } = {},
): Promise<MigrationPlan> {
  const { tables } = await planMigration(session, names);
  await session.takeTurn(tables);
  const plan = await planPartitioning(session, names, every);
  await hooks.onPlan?.(plan);
  await runSteps(session, plan.steps, hooks);
  return plan;
}

function partitioningSteps(
  tables: QueueTables,
  names: QueueNames,
  survey: TableSurvey,
  every: bigint,
): readonly Step[] {
  refuseUnfit(tables, survey);
  const { queue } = tables;
  const limit = quotedLimit(tables);
  const usable =
    survey.limit !== undefined && survey.limit > survey.lastId + every ? survey.limit : undefined;
  const end = usable ?? roundedUp(survey.lastId + (idRoom > every ? idRoom : every), every);
  const adding = [
    ...(survey.limit === undefined ? [] : [`alter table ${queue} drop constraint ${limit}`]),
    `alter table ${queue} add constraint ${limit} check (id < ${end}) not valid`,
  ];
  const unique = partitionedIndexes.filter(({ suffix }) => survey.uniqueIndexes.has(ownName(tables, suffix)));
  const validating = `alter table ${queue} validate constraint ${limit}`;
  return [
    ...(usable === undefined
      ? [
          shortStep(`limit the table to ids below ${end}, far above those of new rows`, {
            lock: locks.instant(queue),
            table: queue,
            sql: adding,
          }),
        ]
      : []),
    ...(usable !== undefined && survey.limitIsValid
      ? []
      : [
          {
            what: 'check that all rows are below it',
            lock: locks.online(queue),
            sql: [validating],
            run: (session: SchemaSession) => session.alone(validating),
          },
        ]),
    // The table's own indexes are unique; those of a partitioned table cannot be.
    ...unique.map((index): Step => {
      const name = oldIndexName(tables, index.suffix);
      const sql = indexSql(tables, index, { concurrently: true, name });
      return {
        what: `build the index ${name}, in the form that a partition needs`,
        lock: locks.online(queue),
        sql: [sql],
        run: (session) => buildOnce(session, tables, name, sql),
      };
    }),
    shortStep(`make the table the first partition of a new ${tables.qualifiedName}`, {
      lock: locks.instant(queue),
      table: queue,
      sql: [],
      work: (tx) => switchToPartitions(tx, { tables, names, end, every, limit }),
    }),
    ...dropSteps(
      tables,
      unique.map(({ suffix }) => asideName(tables, suffix)),
    ),
  ];
}

async function buildOnce(
  session: SchemaSession,
  tables: QueueTables,
  name: string,
  sql: string,
): Promise<void> {
  const { rows } = await session.query(
    `select i.indisvalid as valid from pg_index i where i.indexrelid = to_regclass($1::text)`,
    [qualifiedIndex(tables, name)],
  );
  if (rows[0]?.['valid'] === true) return;
  if (rows[0]) await session.alone(`drop index concurrently ${qualifiedIndex(tables, name)}`);
  await session.alone(sql);
}

/** Unique indexes of the old table, which cost writes and guard nothing any more. */
function dropSteps(tables: QueueTables, names: readonly string[]): readonly Step[] {
  return names.map((name) => {
    const sql = `drop index concurrently if exists ${qualifiedIndex(tables, name)}`;
    return {
      what: `drop the index ${name}`,
      lock: locks.online(partitionName(tables, 1)),
      sql: [sql],
      run: (session: SchemaSession) => session.alone(sql),
    };
  });
}

function aheadSteps(tables: QueueTables): readonly Step[] {
  const { queue } = tables;
  return [
    {
      what: 'create the partitions that are needed next',
      lock: `SHARE UPDATE EXCLUSIVE on ${queue}, ACCESS EXCLUSIVE on its default partition, for an instant`,
      sql: [],
      run: async (session) => {
        await makePartitions((work) => session.short('creating partitions', queue, work), tables);
      },
    },
  ];
}

/** Refuses a table with parts that would stay behind when a new one takes its name. */
function refuseUnfit({ qualifiedName }: QueueTables, { obstacles }: TableSurvey): void {
  if (obstacles.length === 0) return;
  throw new TarefaError(
    'SCHEMA_CONFLICT',
    `${qualifiedName} cannot be partitioned as it is: ${obstacles.join('; ')}. Drop that, run the command again, and create it again if it is still wanted.`,
  );
}

function roundedUp(id: bigint, every: bigint): bigint {
  return (id / every + 1n) * every;
}
