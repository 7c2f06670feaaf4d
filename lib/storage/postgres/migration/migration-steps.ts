import type { SqlHandle } from '../../sql-handle.js';
import { TarefaError } from '../../../errors.js';
import type { QueueTables } from '../identifiers.js';
import type { Inspection, QueueNames } from '../schema/inspect-schema.js';
import {
  addColumnsSql,
  historyTableSql,
  migrationsTableSql,
  ownName,
  pausedTableSql,
  schedulesTableSql,
  ringFunctionSql,
  ringTriggerSql,
  scheduleFunctionSql,
  scheduleTriggerSql,
  sealTableSql,
  subscriptionsSql,
  viewSql,
  webhooksTableSql,
  workersTableSql,
} from '../schema/schema-objects.js';
import { insertFunctionSql } from '../schema/insert-function.js';
import { recordQueueSql, schemaStatements } from '../schema/schema-statements.js';
import { ownColumns, schemaVersion } from '../schema/schema.js';
import { indexSteps } from './index-steps.js';
import type { SchemaShape } from './schema-shape.js';
import { locks, shortStep, type Step } from './step.js';

/** What the choice of steps depends on. */
export interface Survey {
  readonly tables: QueueTables;
  readonly names: QueueNames;
  readonly found: Inspection;
  readonly shape: SchemaShape;
  readonly wanted: SchemaShape;
  readonly schemaExists: boolean;
  /** Names of the indexes of the subscriptions table. */
  readonly subscriptionIndexes: ReadonlySet<string>;
}

/** Makes a whole queue where none exists. */
export function creationSteps({ tables, names, schemaExists }: Survey): readonly Step[] {
  const sql = [
    ...(schemaExists ? [] : [`create schema if not exists ${tables.quotedSchema}`]),
    ...schemaStatements(tables, names.channel, { rings: true, webhooks: names.webhooks }),
    recordQueueSql(tables),
  ];
  return [
    shortStep(`create the queue ${tables.qualifiedName}`, { lock: locks.none, table: tables.queue, sql }),
  ];
}

/** Steps that bring an existing queue up to date; empty when it is. */
export function upgradeSteps(survey: Survey): readonly Step[] {
  const { tables, found, shape, wanted } = survey;
  return [
    ...companionSteps(survey),
    ...columnSteps(survey),
    ...indexSteps(tables, shape, wanted, found.isPartitioned),
    ...triggerSteps(survey),
    ...functionSteps(survey),
    ...viewSteps(survey),
    ...versionSteps(survey),
  ];
}

/** Tables beside the queue table. */
export function companionSteps({ tables, names, found, subscriptionIndexes }: Survey): readonly Step[] {
  const { relations } = found;
  const make = (what: string, table: string, sql: readonly string[]): Step =>
    shortStep(what, { lock: locks.none, table, sql });
  const steps: Step[] = [];
  if (!relations.has(tables.migrations)) {
    steps.push(make('create the table of versions', tables.migrations, [migrationsTableSql(tables)]));
  }
  if (!relations.has(tables.workers)) {
    steps.push(make('create the table of workers', tables.workers, [workersTableSql(tables)]));
  }
  if (!relations.has(tables.paused)) {
    steps.push(make('create the table of pauses', tables.paused, [pausedTableSql(tables)]));
  }
  if (!relations.has(tables.schedules)) {
    steps.push(make('create the table of schedules', tables.schedules, schedulesTableSql(tables)));
  }
  if (!relations.has(tables.history)) {
    steps.push(make('create the table of the past day', tables.history, [historyTableSql(tables)]));
  }
  if (!relations.has(tables.seal) || found.sealKey === 'absent') {
    steps.push(make('create the key that deliveries are sealed with', tables.seal, sealTableSql(tables)));
  }
  if (names.webhooks && !relations.has(tables.webhooks)) {
    steps.push(make('create the table of endpoints', tables.webhooks, [webhooksTableSql(tables)]));
  }
  const { subscriptions } = tables;
  if (subscriptions !== undefined) {
    const hasIndexes = ['sub_tenant', 'sub_topic'].every((suffix) =>
      subscriptionIndexes.has(ownName(tables, suffix)),
    );
    if (found.subscriptionColumns.size === 0) {
      steps.push(
        make('create the subscriptions table', subscriptions, subscriptionsSql(tables, subscriptions)),
      );
    } else if (!hasIndexes) {
      const [, ...indexes] = subscriptionsSql(tables, subscriptions);
      steps.push(
        shortStep('build the indexes of the subscriptions table', {
          lock: `SHARE on ${subscriptions}: subscriptions can be read but not changed for a moment`,
          table: subscriptions,
          sql: indexes,
        }),
      );
    }
  }
  return steps;
}

/** Columns of ours: nullable or with constant defaults, so that no row is written. */
export function columnSteps({ tables, found }: Survey): readonly Step[] {
  const missing = ownColumns.filter(({ name }) => !found.queueColumns.has(name));
  if (missing.length === 0) return [];
  return [
    shortStep(`add ${missing.map(({ name }) => name).join(', ')}`, {
      lock: locks.instant(tables.queue),
      table: tables.queue,
      sql: [addColumnsSql(tables.queue, missing)],
    }),
  ];
}

/** Functions are replaced without a lock on the table; triggers only when they are missing or differ. */
export function triggerSteps({ tables, names, found, shape, wanted }: Survey): readonly Step[] {
  // One that rings keeps its channel: workers listen there.
  const channel = found.triggers.get(ownName(tables, 'ring')) ?? names.channel;
  const own = [
    { suffix: 'schedule', body: scheduleFunctionSql(tables), trigger: scheduleTriggerSql(tables) },
    { suffix: 'ring', body: ringFunctionSql(tables), trigger: ringTriggerSql(tables, channel) },
  ];
  return own.flatMap(({ suffix, body, trigger }) => {
    const bodyDiffers = shape.functions.get(suffix) !== wanted.functions.get(suffix);
    const triggerDiffers = shape.triggers.get(suffix) !== wanted.triggers.get(suffix);
    const name = ownName(tables, suffix);
    if (triggerDiffers) {
      const sql = [...(bodyDiffers ? [body] : []), ...trigger];
      return [
        shortStep(`create the trigger ${name}`, {
          lock: locks.instant(tables.queue),
          table: tables.queue,
          sql,
        }),
      ];
    }
    if (!bodyDiffers) return [];
    return [
      shortStep(`replace the function ${name}`, { lock: locks.none, table: tables.queue, sql: [body] }),
    ];
  });
}

/** The function by which the library inserts. */
export function functionSteps({ tables, shape, wanted }: Survey): readonly Step[] {
  if (shape.functions.get('insert') === wanted.functions.get('insert')) return [];
  const sql = [insertFunctionSql(tables)];
  return [
    shortStep(`create the function ${ownName(tables, 'insert')}`, {
      lock: locks.none,
      table: tables.queue,
      sql,
    }),
  ];
}

/** The view of tasks. */
export function viewSteps({ tables, shape, wanted }: Survey): readonly Step[] {
  if (shape.view === wanted.view) return [];
  const sql = [viewSql(tables)];
  return [
    shortStep(`create the view ${tables.view}`, {
      lock: `ACCESS EXCLUSIVE on the view, for an instant`,
      table: tables.view,
      sql,
      work: (tx) => replaceView(tx, tables),
    }),
  ];
}

/** Replacing a view keeps its columns; with other columns it is made again. */
async function replaceView(tx: SqlHandle, tables: QueueTables): Promise<void> {
  await tx.query('savepoint before_view');
  try {
    await tx.query(viewSql(tables));
  } catch (error) {
    if ((error as { code?: unknown }).code !== '42P16') throw error;
    await tx.query('rollback to savepoint before_view');
    await tx.query(`drop view ${tables.view}`).catch((cause: unknown) => {
      throw new TarefaError(
        'SCHEMA_CONFLICT',
        `the view ${tables.view} gets other columns, but something of yours depends on it (${String((cause as { detail?: unknown }).detail)}): ` +
          'drop that, run the command again, and create it again',
        { cause },
      );
    });
    await tx.query(viewSql(tables));
  }
}

/** The version that the tables have by then. */
export function versionSteps({ tables, found }: Survey): readonly Step[] {
  if (found.version === schemaVersion) return [];
  return [
    shortStep(`record version ${schemaVersion}`, {
      lock: locks.none,
      table: tables.migrations,
      sql: [recordQueueSql(tables)],
    }),
  ];
}
