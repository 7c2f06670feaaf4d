import { TarefaError } from '../../../errors.js';
import type { QueueTables } from '../identifiers.js';
import {
  inspectSchema,
  refuseConflicts,
  refuseNewer,
  resolveTables,
  type QueueNames,
} from '../schema/inspect-schema.js';
import { ownName } from '../schema/schema-objects.js';
import { refuseHiddenVersion } from '../schema/schema-rights.js';
import { ownColumns, queueIndexes } from '../schema/schema.js';
import { creationSteps, upgradeSteps, type Survey } from './migration-steps.js';
import type { SchemaSession } from './schema-session.js';
import { readShape, readWantedShape } from './schema-shape.js';
import { runSteps, type Step, type StepHooks } from './step.js';

/** The steps of a migration. */
export interface MigrationPlan {
  readonly tables: QueueTables;
  /** Undefined for a queue that does not exist. */
  readonly version: number | undefined;
  /** About how many rows it has. */
  readonly rows: number;
  /** Empty when the queue is up to date. */
  readonly steps: readonly Step[];
}

/**
 * Compares a queue with the current version, and plans the steps that bring it there. Changes nothing.
 *
 * @throws {TarefaError} `SCHEMA_CONFLICT` for a table that is something else, newer, or to be adopted
 */
export async function planMigration(session: SchemaSession, names: QueueNames): Promise<MigrationPlan> {
  const survey = await surveyQueue(session, names);
  const { tables, found } = survey;
  refuseConflicts(found, tables);
  const exists = found.queueColumns.size > 0;
  if (exists) refuseUnadopted(survey);
  return {
    tables,
    version: found.version,
    rows: found.rows,
    steps: exists ? upgradeSteps(survey) : creationSteps(survey),
  };
}

/** Makes a queue, or brings it up to date while it is used. Run again after an interruption it goes on. */
export async function migrate(
  session: SchemaSession,
  names: QueueNames,
  hooks: StepHooks & { readonly onPlan?: (plan: MigrationPlan) => void | Promise<void> } = {},
): Promise<MigrationPlan> {
  await session.takeTurn(await resolveTables(session, names));
  const plan = await planMigration(session, names);
  await hooks.onPlan?.(plan);
  await runSteps(session, plan.steps, hooks);
  return plan;
}

/** Reads all that a plan depends on. */
export async function surveyQueue(session: SchemaSession, names: QueueNames): Promise<Survey> {
  const tables = await resolveTables(session, names);
  return session.short('reading the tables', tables.queue, async (tx) => {
    const { rows } = await tx.query('select to_regnamespace($1::text) is not null as there', [
      tables.quotedSchema,
    ]);
    const schemaExists = rows[0]?.['there'] === true;
    const found = await inspectSchema(tx, tables);
    await refuseHiddenVersion(tx, found, tables);
    refuseNewer(found, tables);
    const shape = await readShape(tx, tables);
    const { rows: indexes } = await tx.query(
      `select c.relname::text as name from pg_index i join pg_class c on c.oid = i.indexrelid
       where i.indrelid = to_regclass($1::text)`,
      [tables.subscriptions ?? null],
    );
    return {
      tables,
      names,
      found,
      shape,
      // Nothing to compare with where nothing is.
      wanted: found.queueColumns.size > 0 ? await readWantedShape(tx, tables, shape) : shape,
      schemaExists,
      subscriptionIndexes: new Set(indexes.map((row) => String(row['name']))),
    };
  });
}

/** Refuses a table that nsj-queue-lib made, or whose adoption was interrupted. */
function refuseUnadopted({ tables, found, shape }: Survey): void {
  if (found.version !== undefined) return;
  const isOurs =
    ownColumns.every(({ name }) => found.queueColumns.has(name)) &&
    queueIndexes.every(({ suffix, unique }) => !unique || shape.indexes.has(suffix));
  if (isOurs) return;
  throw new TarefaError(
    'SCHEMA_CONFLICT',
    `${tables.qualifiedName} was created by nsj-queue-lib, or its adoption was interrupted (${ownName(tables, 'successor')} is missing, and no version is stored): ` +
      `run \`npx tarefa adopt ${tables.qualifiedName}\``,
  );
}
