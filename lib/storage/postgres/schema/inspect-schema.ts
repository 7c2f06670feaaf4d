import { TarefaError } from '../../../errors.js';
import type { SqlHandle } from '../../sql-handle.js';
import { quoteTableName, queueTables, type QueueTables } from '../identifiers.js';
import type { TableName } from '../../../values/table-name.js';
import { insertFunctionSignature } from './insert-function.js';
import { ownName } from './schema-objects.js';
import { mayRead } from './schema-rights.js';
import {
  contractColumns,
  ownColumns,
  queueIndexes,
  schemaVersion,
  subscriptionColumns,
  type ColumnDefinition,
} from './schema.js';

/** Which queue, and what of it is used. */
export interface QueueNames {
  readonly table: TableName;
  readonly subscriptionTable: TableName | undefined;
  readonly channel: string;
  /** True when webhooks are delivered: they need a table of their own. */
  readonly webhooks: boolean;
}

/** The existing parts of a queue, by name. */
export interface Inspection {
  /** Undefined when nothing is written down. */
  readonly version: number | undefined;
  /** True when this role may not read it, like the role of a process that only produces. */
  readonly isVersionHidden: boolean;
  readonly queueColumns: ReadonlyMap<string, string>;
  readonly subscriptionColumns: ReadonlyMap<string, string>;
  /** Valid ones. */
  readonly indexes: ReadonlySet<string>;
  /** Trigger name to its channel (for the ring) or an empty text. */
  readonly triggers: ReadonlyMap<string, string>;
  /** True when the function is there by which the library inserts. */
  readonly hasInsertFunction: boolean;
  readonly relations: ReadonlySet<string>;
  /** `unreadable`: this role may not read the table, so whether it holds a key is unknown. */
  readonly sealKey: 'present' | 'absent' | 'unreadable';
  /** True of a queue that is divided into partitions. */
  readonly isPartitioned: boolean;
  /** Estimated rows of the queue, from its size and statistics. */
  readonly rows: number;
}

/** Quoted names of a queue's tables; looks up the schema where none is given. */
export async function resolveTables(tx: SqlHandle, names: QueueNames): Promise<QueueTables> {
  const schema = await resolveSchema(tx, names.table);
  const subscriptions = names.subscriptionTable && {
    schema: names.subscriptionTable.schema ?? schema,
    table: names.subscriptionTable.table,
  };
  return queueTables(schema, names.table.table, subscriptions);
}

/** Finds a table without schema in the search path; a new one goes where the path would create it. */
async function resolveSchema(tx: SqlHandle, table: TableName): Promise<string> {
  if (table.schema !== undefined) return table.schema;
  const { rows } = await tx.query(
    `select coalesce(
       (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = to_regclass($1::text)),
       current_schema())::text as schema`,
    [quoteTableName(table)],
  );
  const schema = rows[0]?.['schema'];
  if (typeof schema !== 'string') {
    throw new TarefaError(
      'SCHEMA_CONFLICT',
      `no schema for the table ${table.table}: the connection's search_path names none that exists; write 'schema.${table.table}'`,
    );
  }
  return schema;
}

/** Reads which parts of a queue exist. */
export async function inspectSchema(tx: SqlHandle, tables: QueueTables): Promise<Inspection> {
  const [queueColumns, subscriptionTypes, indexes, triggers, relations] = [
    await readColumnTypes(tx, tables.queue),
    tables.subscriptions ? await readColumnTypes(tx, tables.subscriptions) : new Map<string, string>(),
    await tx.query(
      `select c.relname::text as name from pg_index i join pg_class c on c.oid = i.indexrelid
       where i.indrelid = to_regclass($1::text) and i.indisvalid`,
      [tables.queue],
    ),
    await tx.query(
      `select t.tgname::text as name, encode(t.tgargs, 'escape') as args from pg_trigger t
       where t.tgrelid = to_regclass($1::text) and not t.tgisinternal and t.tgenabled <> 'D'`,
      [tables.queue],
    ),
    await tx.query(`select name from unnest($1::text[]) name where to_regclass(name) is not null`, [
      [
        tables.workers,
        tables.paused,
        tables.schedules,
        tables.history,
        tables.webhooks,
        tables.seal,
        tables.migrations,
        tables.view,
      ],
    ]),
  ];
  const relationNames = new Set(relations.rows.map((row) => String(row['name'])));
  const triggerChannels = new Map(
    // Arguments are stored with a closing NUL each, which encode() shows as \000.
    triggers.rows.map((row) => [String(row['name']), String(row['args']).replace(/\\000$/, '')]),
  );
  const hasVersion = relationNames.has(tables.migrations);
  const isVersionHidden = hasVersion && !(await mayRead(tx, tables.migrations));
  return {
    version: hasVersion && !isVersionHidden ? await readVersion(tx, tables) : undefined,
    isVersionHidden,
    queueColumns,
    subscriptionColumns: subscriptionTypes,
    indexes: new Set(indexes.rows.map((row) => String(row['name']))),
    triggers: triggerChannels,
    hasInsertFunction: await hasInsertFunction(tx, tables),
    relations: relationNames,
    sealKey: relationNames.has(tables.seal) ? await lookForSealKey(tx, tables) : 'absent',
    isPartitioned: await isPartitioned(tx, tables),
    rows: await estimateRows(tx, tables.queue),
  };
}

async function hasInsertFunction(tx: SqlHandle, tables: QueueTables): Promise<boolean> {
  const { rows } = await tx.query('select to_regprocedure($1::text) is not null as there', [
    insertFunctionSignature(tables),
  ]);
  return rows[0]?.['there'] === true;
}

/** Column names to types, as PostgreSQL prints them; empty without the table. */
export async function readColumnTypes(tx: SqlHandle, table: string): Promise<ReadonlyMap<string, string>> {
  const { rows } = await tx.query(
    `select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type from pg_attribute a
     where a.attrelid = to_regclass($1::text) and a.attnum > 0 and not a.attisdropped
     order by a.attnum`,
    [table],
  );
  return new Map(rows.map((row) => [String(row['name']), String(row['type'])]));
}

/** Whether the queue table is divided into partitions. */
export async function isPartitioned(tx: SqlHandle, { queue }: QueueTables): Promise<boolean> {
  const { rows } = await tx.query(
    `select from pg_class where oid = to_regclass($1::text) and relkind = 'p'`,
    [queue],
  );
  return rows.length > 0;
}

/** Estimates as the planner does: rows per page at the last ANALYZE or VACUUM, times the pages of today. */
export async function estimateRows(tx: SqlHandle, table: string): Promise<number> {
  const { rows } = await tx.query(
    `select (case when c.reltuples > 0 and c.relpages > 0 then c.reltuples / c.relpages else 30 end
       * size.pages)::bigint::text as rows
     from pg_class c
     cross join lateral (
       select coalesce(sum(pg_relation_size(leaf)), 0) / current_setting('block_size')::int as pages
       from (
         select c.oid::regclass as leaf where c.relkind <> 'p'
         union all
         select relid from pg_partition_tree(c.oid) where isleaf and c.relkind = 'p'
       ) leaves
     ) size
     where c.oid = to_regclass($1::text)`,
    [table],
  );
  return Number(rows[0]?.['rows'] ?? 0);
}

async function lookForSealKey(tx: SqlHandle, { seal }: QueueTables): Promise<Inspection['sealKey']> {
  if (!(await mayRead(tx, seal))) return 'unreadable';
  return (await tx.query(`select from ${seal}`)).rows.length > 0 ? 'present' : 'absent';
}

async function readVersion(tx: SqlHandle, tables: QueueTables): Promise<number | undefined> {
  const { rows } = await tx.query(`select version from ${tables.migrations} where table_name = $1::text`, [
    tables.table,
  ]);
  return rows[0] ? Number(rows[0]['version']) : undefined;
}

/** The missing parts of a queue, in words. */
export function listMissing(
  found: Inspection,
  tables: QueueTables,
  { webhooks }: Pick<QueueNames, 'webhooks'>,
): string[] {
  const missing: string[] = [];
  if (found.queueColumns.size === 0) missing.push(`table ${tables.queue}`);
  else missing.push(...missingColumns(found.queueColumns, [...contractColumns, ...ownColumns], tables.queue));
  if (tables.subscriptions) {
    if (found.subscriptionColumns.size === 0) missing.push(`table ${tables.subscriptions}`);
    else {
      missing.push(...missingColumns(found.subscriptionColumns, subscriptionColumns, tables.subscriptions));
    }
  }
  for (const index of missingIndexes(found, tables)) missing.push(`index ${index}`);
  for (const suffix of ['schedule', 'ring']) {
    const name = ownName(tables, suffix);
    if (!found.triggers.has(name)) missing.push(`trigger ${name}`);
  }
  if (!found.hasInsertFunction) missing.push(`function ${ownName(tables, 'insert')}`);
  const { workers, paused, schedules, history, seal } = tables;
  const companions = [workers, paused, schedules, history, seal, ...(webhooks ? [tables.webhooks] : [])];
  for (const relation of [...companions, tables.migrations, tables.view]) {
    if (!found.relations.has(relation))
      missing.push(`${relation === tables.view ? 'view' : 'table'} ${relation}`);
  }
  if (found.relations.has(seal) && found.sealKey === 'absent') missing.push(`the key in ${seal}`);
  if (found.isVersionHidden) return missing;
  if (found.version === undefined) missing.push(`the entry of ${tables.table} in ${tables.migrations}`);
  else if (found.version < schemaVersion) {
    missing.push(`version ${schemaVersion} of its tables (they have ${found.version})`);
  }
  return missing;
}

/** Names of indexes that are missing or invalid. */
export function missingIndexes(found: Inspection, tables: QueueTables): readonly string[] {
  return queueIndexes.map(({ suffix }) => ownName(tables, suffix)).filter((name) => !found.indexes.has(name));
}

function missingColumns(
  found: ReadonlyMap<string, string>,
  wanted: readonly ColumnDefinition[],
  table: string,
): string[] {
  return wanted.filter(({ name }) => !found.has(name)).map(({ name }) => `column ${table}.${name}`);
}

/** Refuses a table that is not a queue, or newer than this library. */
export function refuseConflicts(found: Inspection, tables: QueueTables): void {
  refuseNewer(found, tables);
  const problems = [
    ...wrongColumns(found.queueColumns, contractColumns, ownColumns, tables.queue),
    ...(tables.subscriptions
      ? wrongColumns(found.subscriptionColumns, subscriptionColumns, [], tables.subscriptions)
      : []),
  ];
  if (problems.length > 0) {
    throw new TarefaError(
      'SCHEMA_CONFLICT',
      `a table of that name exists and cannot be used as it is: ${problems.join('; ')}. Choose another table name, or change these columns` +
        `${canBeAdopted(found, tables) ? `; a table of nsj-queue-lib: \`npx tarefa adopt ${tables.qualifiedName}\`` : ''}.`,
    );
  }
}

/** True for a queue table that is there and that this library has neither made nor adopted. */
export function isForeign(found: Inspection): boolean {
  return found.queueColumns.size > 0 && found.version === undefined && !found.isVersionHidden;
}

/** @throws {TarefaError} `SCHEMA_CONFLICT` when a newer version of this library made the tables */
export function refuseNewer(found: Inspection, tables: QueueTables): void {
  if (found.version === undefined || found.version <= schemaVersion) return;
  throw new TarefaError(
    'SCHEMA_CONFLICT',
    `${tables.queue} was created by a newer version (schema ${found.version}, this library knows ${schemaVersion}): upgrade nestjs-tarefa`,
  );
}

/** Columns that are missing or have another type, of those that this library cannot add. */
export function wrongColumns(
  found: ReadonlyMap<string, string>,
  contract: readonly ColumnDefinition[],
  own: readonly ColumnDefinition[],
  table: string,
): string[] {
  if (found.size === 0) return [];
  const absent = contract
    .filter(({ name }) => !found.has(name))
    .map(({ name, type }) => `${table}.${name} (${type}) is missing`);
  const differing = [...contract, ...own]
    .filter(({ name, type }) => found.has(name) && found.get(name) !== type)
    .map(({ name, type }) => `${table}.${name} is ${found.get(name)}, not ${type}`);
  return [...absent, ...differing];
}

/** Types that the four times of an old table may have. */
const zoneless = 'timestamp without time zone';

/** True when an older version of nsj-queue-lib explains what is wrong with a table. */
function canBeAdopted(found: Inspection, tables: QueueTables): boolean {
  const aged = contractColumns
    .filter(({ name }) => name !== 'prioridade' || found.queueColumns.has(name))
    .map((column) =>
      found.queueColumns.get(column.name) === zoneless ? { ...column, type: zoneless } : column,
    );
  return (
    found.version === undefined &&
    wrongColumns(found.queueColumns, aged, ownColumns, tables.queue).length === 0
  );
}
