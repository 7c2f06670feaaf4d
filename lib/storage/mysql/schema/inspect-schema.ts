import { TarefaError } from '../../../errors.js';
import type { TableName } from '../../../values/table-name.js';
import type { TextRow } from '../connections/answers.js';
import type { Run } from '../connections/transactions.js';
import type { DialectName } from '../dialect.js';
import { queueTables, quoteIdentifier, type QueueTables } from '../identifiers.js';
import { isRefusal } from './refusals.js';
import { ownName } from './schema-objects.js';
import {
  computedColumns,
  contractColumns,
  ownColumns,
  queueIndexes,
  schemaVersion,
  subscriptionColumns,
  type ColumnDefinition,
} from './schema.js';
import type { Server } from './server.js';

/** Which queue, and what of it is used. */
export interface QueueNames {
  readonly table: TableName;
  readonly subscriptionTable: TableName | undefined;
  /** True when webhooks are delivered: they need a table of their own. */
  readonly webhooks: boolean;
  /** Default: MySQL's. */
  readonly dialect?: DialectName | undefined;
}

/** The existing parts of a queue, by name. */
export interface Inspection {
  /** Undefined when nothing is written down. */
  readonly version: number | undefined;
  /** Columns of the tables that are there, with their types; by the table's name without quotes. */
  readonly columns: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Of the queue table. */
  readonly indexes: ReadonlySet<string>;
  readonly triggers: ReadonlySet<string>;
  readonly views: ReadonlySet<string>;
  /** False for a user with rights on single tables, to whom the server does not show the others. */
  readonly seesAll: boolean;
}

/** Quoted names of a queue's tables, in the connection's database where none is given. */
export function resolveTables(database: string | undefined, names: QueueNames): QueueTables {
  const own = names.table.schema ?? database;
  if (own === undefined) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      `no database for the table ${names.table.table}: name one in the connection (mysql://host/database), or write 'database.${names.table.table}'`,
    );
  }
  const subscriptions = names.subscriptionTable && {
    schema: names.subscriptionTable.schema ?? own,
    table: names.subscriptionTable.table,
  };
  return queueTables(own, names.table.table, subscriptions, names.dialect);
}

/** A queue's names as the server has them. Those that it does not tell apart get one spelling, and so do the locks named after them. */
export function namesOn<T extends QueueNames>({ foldsNames }: Pick<Server, 'foldsNames'>, names: T): T {
  if (!foldsNames) return names;
  const { table, subscriptionTable } = names;
  return {
    ...names,
    table: inSmallLetters(table),
    subscriptionTable: subscriptionTable && inSmallLetters(subscriptionTable),
  };
}

function inSmallLetters({ schema, table }: TableName): TableName {
  return { schema: schema?.toLowerCase(), table: table.toLowerCase() };
}

/** Reads which parts of a queue exist. */
export async function inspectSchema(run: Run, tables: QueueTables, names: QueueNames): Promise<Inspection> {
  const subscriptions = subscriptionsOf(tables, names);
  const schemas = [...new Set([tables.database, subscriptions?.schema ?? tables.database])];
  const isAnyOf = schemas.map(() => '?').join(', ');
  const [columns, indexes, views] = await run(
    `select table_schema as db, table_name as tab, column_name as col, column_type as type
       from information_schema.columns where table_schema in (${isAnyOf});
     select distinct index_name as name from information_schema.statistics where table_schema = ? and table_name = ?;
     select table_name as name from information_schema.views where table_schema = ?`,
    [...schemas, tables.database, tables.table, tables.database],
  );
  const byTable = new Map<string, Map<string, string>>();
  for (const row of columns?.rows ?? []) {
    const table = `${row['db']}.${row['tab']}`;
    if (!byTable.has(table)) byTable.set(table, new Map());
    byTable.get(table)?.set(String(row['col']), plainType(String(row['type'])));
  }
  const named = (rows: readonly TextRow[] = []): ReadonlySet<string> =>
    new Set(rows.map((row) => String(row['name'])));
  const hasVersion = byTable.has(`${tables.database}.tarefa_migration`);
  return {
    version: hasVersion ? await readVersion(run, tables) : undefined,
    columns: byTable,
    indexes: named(indexes?.rows),
    triggers: tables.dialect === 'mysql' ? await readTriggers(run, tables) : new Set(),
    views: named(views?.rows),
    seesAll: await seesAll(run, tables),
  };
}

async function readTriggers(run: Run, tables: QueueTables): Promise<ReadonlySet<string>> {
  const [answer] = await run(
    'select trigger_name as name from information_schema.triggers where event_object_schema = ? and event_object_table = ?',
    [tables.database, tables.table],
  );
  const seen = new Set(answer?.rows.map((row) => String(row['name'])));
  const trigger = ownName(tables, 'schedule');
  if (!seen.has(trigger) && (await isHiddenTrigger(run, tables, trigger))) seen.add(trigger);
  return seen;
}

/** Triggers are listed for users with the right to make some. */
async function isHiddenTrigger(run: Run, { quotedDatabase }: QueueTables, trigger: string): Promise<boolean> {
  try {
    await run(`show create trigger ${quotedDatabase}.${quoteIdentifier(trigger)}`);
    return true;
  } catch (error) {
    return isRefusal(error);
  }
}

/** Who has a right on the whole database is told that a table is not there, others are told that they may not read it. */
async function seesAll(run: Run, { quotedDatabase }: QueueTables): Promise<boolean> {
  try {
    await run(`select 1 from ${quotedDatabase}.tarefa_is_not_there`);
    return true;
  } catch (error) {
    return !isRefusal(error);
  }
}

/** The width that MariaDB shows of whole numbers means nothing. */
function plainType(type: string): string {
  return type.toLowerCase().replace(/^(bigint|int)\(\d+\)/, '$1');
}

function subscriptionsOf({ database }: QueueTables, { subscriptionTable }: QueueNames) {
  return (
    subscriptionTable && { schema: subscriptionTable.schema ?? database, table: subscriptionTable.table }
  );
}

async function readVersion(run: Run, { migrations, table }: QueueTables): Promise<number | undefined> {
  const [answer] = await run(`select version from ${migrations} where table_name = ?`, [table]);
  const version = answer?.rows[0]?.['version'];
  return version == null ? undefined : Number(version);
}

/** The missing parts of a queue, in words. */
export function listMissing(found: Inspection, tables: QueueTables, names: QueueNames): string[] {
  const { database, table } = tables;
  const missing: string[] = [];
  const queue = found.columns.get(`${database}.${table}`);
  if (!queue) missing.push(`table ${tables.queue}`);
  else {
    const wanted = [...contractColumns, ...ownColumns, ...computedColumns];
    missing.push(...missingColumns(queue, wanted, tables.queue));
    const absent = queueIndexes.filter(({ name }) => !found.indexes.has(name));
    missing.push(...absent.map(({ name }) => `index ${name} of ${tables.queue}`));
  }
  // What is hidden may be there: without it, the first statement that needs it fails.
  if (queue && !found.seesAll) return missing;
  const trigger = ownName(tables, 'schedule');
  if (tables.dialect === 'mysql' && !found.triggers.has(trigger)) missing.push(`trigger ${trigger}`);
  const subscriptions = subscriptionsOf(tables, names);
  if (subscriptions && tables.subscriptions !== undefined) {
    const columns = found.columns.get(`${subscriptions.schema}.${subscriptions.table}`);
    if (columns) missing.push(...missingColumns(columns, subscriptionColumns, tables.subscriptions));
    else missing.push(`table ${tables.subscriptions}`);
  }
  for (const suffix of companions(tables, names)) {
    if (!found.columns.has(`${database}.${ownName(tables, suffix)}`)) {
      missing.push(`table ${ownName(tables, suffix)}`);
    }
  }
  if (!found.columns.has(`${database}.tarefa_migration`)) missing.push(`table ${tables.migrations}`);
  else if (found.version === undefined) missing.push(`the entry of ${table} in ${tables.migrations}`);
  else if (found.version < schemaVersion) {
    missing.push(`version ${schemaVersion} of its tables (they have ${found.version})`);
  }
  if (!found.views.has(ownName(tables, 'tasks'))) missing.push(`view ${tables.view}`);
  return missing;
}

function companions({ dialect }: QueueTables, { webhooks }: QueueNames): readonly string[] {
  const locks = dialect === 'mysql' ? [] : ['lock'];
  return ['worker', 'paused', 'schedule', 'history', 'seal', ...locks, ...(webhooks ? ['webhook'] : [])];
}

function missingColumns(
  found: ReadonlyMap<string, string>,
  wanted: readonly ColumnDefinition[],
  table: string,
): string[] {
  return wanted.filter(({ name }) => !found.has(name)).map(({ name }) => `column ${table}.${name}`);
}

/**
 * Refuses a table that is not a queue, or newer than this library.
 *
 * @throws {TarefaError} `SCHEMA_CONFLICT`
 */
export function refuseConflicts(found: Inspection, tables: QueueTables, names: QueueNames): void {
  if (found.version !== undefined && found.version > schemaVersion) {
    throw new TarefaError(
      'SCHEMA_CONFLICT',
      `${tables.queue} was created by a newer version (schema ${found.version}, this library knows ${schemaVersion}): upgrade nestjs-tarefa`,
    );
  }
  const subscriptions = subscriptionsOf(tables, names);
  const problems = [
    ...wrongColumns(
      found.columns.get(`${tables.database}.${tables.table}`),
      [...contractColumns, ...ownColumns, ...computedColumns],
      tables.queue,
    ),
    ...(subscriptions && tables.subscriptions !== undefined
      ? wrongColumns(
          found.columns.get(`${subscriptions.schema}.${subscriptions.table}`),
          subscriptionColumns,
          tables.subscriptions,
        )
      : []),
  ];
  if (problems.length === 0) return;
  throw new TarefaError(
    'SCHEMA_CONFLICT',
    `a table of that name exists and cannot be used as it is: ${problems.join('; ')}. Choose another table name, or change these columns.`,
  );
}

/** Columns that are missing or have another type: adding one would rebuild a table with rows. */
function wrongColumns(
  found: ReadonlyMap<string, string> | undefined,
  wanted: readonly ColumnDefinition[],
  table: string,
): string[] {
  if (!found) return [];
  return wanted.flatMap(({ name, type }) => {
    const actual = found.get(name);
    if (actual === undefined) return [`${table}.${name} (${type}) is missing`];
    return actual === type ? [] : [`${table}.${name} is ${actual}, not ${type}`];
  });
}
