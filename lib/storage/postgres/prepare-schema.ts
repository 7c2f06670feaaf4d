import { TarefaError } from '../../queue.errors.js';
import type { SqlHandle } from '../../client/sql-handle.js';
import { quoteTableName, queueTables, type QueueTables, type TableName } from './identifiers.js';
import {
  contractColumns,
  laterWorkerColumns,
  ownColumns,
  queueIndexes,
  schemaStatements,
  schemaVersion,
  subscriptionColumns,
  type ColumnDefinition,
} from './schema.js';

/** What `prepareSchema` is asked for. */
export interface SchemaRequest {
  readonly table: TableName;
  readonly subscriptionTable: TableName | undefined;
  readonly channel: string;
  readonly mode: 'create' | 'check';
  /** True when webhooks are delivered: they need a table of their own. */
  readonly webhooks: boolean;
}

/** What it found or made. */
export interface PreparedSchema {
  readonly tables: QueueTables;
  /** Random identity of this queue, written when its table was made; part of every task's key. */
  readonly identity: string;
  /** Things that work but deserve a word: for the log. */
  readonly warnings: readonly string[];
  /** What was made now; empty when everything was there. */
  readonly made: readonly string[];
}

/**
 * Creates what is missing of a queue, or names it.
 *
 * @param run runs its argument inside one transaction
 * @throws {TarefaError} `SCHEMA_MISSING` (mode `check`), `SCHEMA_CONFLICT`
 */
export async function prepareSchema(
  run: <T>(work: (tx: SqlHandle) => Promise<T>) => Promise<T>,
  request: SchemaRequest,
): Promise<PreparedSchema> {
  return run(async (tx) => {
    const tables = await resolveTables(tx, request);
    const found = await inspect(tx, tables);
    const missing = listMissing(found, tables, request);
    refuseConflicts(found, tables);

    if (missing.length > 0 && request.mode === 'check') {
      throw new TarefaError(
        'SCHEMA_MISSING',
        `the queue ${tables.qualifiedName} is not complete: missing ${missing.join(', ')}. ` +
          `Start once with schema: 'create', or run the statements of docs/reference/schema.md.`,
      );
    }
    const made = missing.length > 0 ? await create(tx, tables, request) : missing;
    return {
      tables,
      identity: await readIdentity(tx, tables),
      warnings: listWarnings(found, tables, request.channel),
      made,
    };
  });
}

async function resolveTables(tx: SqlHandle, request: SchemaRequest): Promise<QueueTables> {
  const schema = await resolveSchema(tx, request.table);
  const subscriptions = request.subscriptionTable && {
    schema: request.subscriptionTable.schema ?? schema,
    table: request.subscriptionTable.table,
  };
  return queueTables(schema, request.table.table, subscriptions);
}

/** A table without schema is looked up in the search path; a new one goes where the path would create it. */
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

interface Inspection {
  readonly version: number | undefined;
  readonly queueColumns: ReadonlyMap<string, string>;
  readonly subscriptionColumns: ReadonlyMap<string, string>;
  readonly workerColumns: ReadonlyMap<string, string>;
  readonly indexes: ReadonlySet<string>;
  /** Trigger name to its channel (for the ring) or an empty text. */
  readonly triggers: ReadonlyMap<string, string>;
  readonly relations: ReadonlySet<string>;
}

async function inspect(tx: SqlHandle, tables: QueueTables): Promise<Inspection> {
  const [queueColumns, subscriptionTypes, indexes, triggers, relations] = [
    await readColumns(tx, tables.queue),
    tables.subscriptions ? await readColumns(tx, tables.subscriptions) : new Map<string, string>(),
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
      [tables.workers, tables.paused, tables.webhooks, tables.migrations, tables.view],
    ]),
  ];
  const relationNames = new Set(relations.rows.map((row) => String(row['name'])));
  const triggerChannels = new Map(
    // Arguments are stored with a closing NUL each, which encode() shows as \000.
    triggers.rows.map((row) => [String(row['name']), String(row['args']).replace(/\\000$/, '')]),
  );
  return {
    version: relationNames.has(tables.migrations) ? await readVersion(tx, tables) : undefined,
    queueColumns,
    subscriptionColumns: subscriptionTypes,
    workerColumns: await readColumns(tx, tables.workers),
    indexes: new Set(indexes.rows.map((row) => String(row['name']))),
    triggers: triggerChannels,
    relations: relationNames,
  };
}

async function readColumns(tx: SqlHandle, table: string): Promise<ReadonlyMap<string, string>> {
  const { rows } = await tx.query(
    `select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type from pg_attribute a
     where a.attrelid = to_regclass($1::text) and a.attnum > 0 and not a.attisdropped`,
    [table],
  );
  return new Map(rows.map((row) => [String(row['name']), String(row['type'])]));
}

async function readVersion(tx: SqlHandle, tables: QueueTables): Promise<number | undefined> {
  const { rows } = await tx.query(`select version from ${tables.migrations} where table_name = $1::text`, [
    tables.table,
  ]);
  return rows[0] ? Number(rows[0]['version']) : undefined;
}

function listMissing(found: Inspection, tables: QueueTables, { webhooks }: SchemaRequest): string[] {
  const missing: string[] = [];
  if (found.queueColumns.size === 0) missing.push(`table ${tables.queue}`);
  else missing.push(...missingColumns(found.queueColumns, [...contractColumns, ...ownColumns], tables.queue));
  if (tables.subscriptions) {
    if (found.subscriptionColumns.size === 0) missing.push(`table ${tables.subscriptions}`);
    else {
      missing.push(...missingColumns(found.subscriptionColumns, subscriptionColumns, tables.subscriptions));
    }
  }
  if (found.relations.has(tables.workers)) {
    missing.push(...missingColumns(found.workerColumns, laterWorkerColumns, tables.workers));
  }
  for (const { suffix } of queueIndexes) {
    if (!found.indexes.has(`${tables.table}_${suffix}`)) missing.push(`index ${tables.table}_${suffix}`);
  }
  for (const suffix of ['schedule', 'ring']) {
    if (!found.triggers.has(`${tables.table}_${suffix}`)) missing.push(`trigger ${tables.table}_${suffix}`);
  }
  const companions = [tables.workers, tables.paused, ...(webhooks ? [tables.webhooks] : [])];
  for (const relation of [...companions, tables.migrations, tables.view]) {
    if (!found.relations.has(relation))
      missing.push(`${relation === tables.view ? 'view' : 'table'} ${relation}`);
  }
  if (found.version === undefined) missing.push(`the entry of ${tables.table} in ${tables.migrations}`);
  return missing;
}

function missingColumns(
  found: ReadonlyMap<string, string>,
  wanted: readonly ColumnDefinition[],
  table: string,
): string[] {
  return wanted.filter(({ name }) => !found.has(name)).map(({ name }) => `column ${table}.${name}`);
}

/** Refuses to touch a table that is something else, or newer than this library. */
function refuseConflicts(found: Inspection, tables: QueueTables): void {
  if (found.version !== undefined && found.version > schemaVersion) {
    throw new TarefaError(
      'SCHEMA_CONFLICT',
      `${tables.queue} was made by a newer version (schema ${found.version}, this library knows ${schemaVersion}): upgrade nestjs-tarefa`,
    );
  }
  const problems = [
    ...wrongColumns(found.queueColumns, contractColumns, ownColumns, tables.queue),
    ...(tables.subscriptions
      ? wrongColumns(found.subscriptionColumns, subscriptionColumns, [], tables.subscriptions)
      : []),
  ];
  if (problems.length > 0) {
    throw new TarefaError(
      'SCHEMA_CONFLICT',
      `a table of that name exists and cannot be used as it is: ${problems.join('; ')}. Choose another table name, or change these columns.`,
    );
  }
}

function wrongColumns(
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

/** Answers what was missing. */
async function create(
  tx: SqlHandle,
  tables: QueueTables,
  request: SchemaRequest,
): Promise<readonly string[]> {
  // Workers that start together take turns, also those of different queues: they share schema and migrations.
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('tarefa:schema', 0))`);
  // Nobody waits long behind a table in use.
  await tx.query(`set local lock_timeout = '10s'`);
  const { rows } = await tx.query(`select to_regnamespace($1::text) is null as absent`, [
    tables.quotedSchema,
  ]);
  if (rows[0]?.['absent'] === true) await tx.query(`create schema if not exists ${tables.quotedSchema}`);
  // Looked at again now that nobody else creates: a ring trigger that exists keeps its channel, because
  // replacing it would silence the workers that listen there.
  const found = await inspect(tx, tables);
  const missing = listMissing(found, tables, request);
  if (missing.length === 0) return missing;
  const { channel, webhooks } = request;
  const rings = !found.triggers.has(`${tables.table}_ring`);
  for (const text of schemaStatements(tables, channel, { rings, webhooks })) {
    await tx.query(text);
  }
  await tx.query(
    `insert into ${tables.migrations} (table_name, version) values ($1::text, $2::int) on conflict (table_name) do nothing`,
    [tables.table, schemaVersion],
  );
  refuseTakenNames(listMissing(await inspect(tx, tables), tables, request), tables);
  return missing;
}

/** `if not exists` is silent about something else of that name: an index of another table, an invalid one. */
function refuseTakenNames(missing: readonly string[], tables: QueueTables): void {
  if (missing.length === 0) return;
  throw new TarefaError(
    'SCHEMA_CONFLICT',
    `the queue ${tables.qualifiedName} cannot be completed: something else, or something invalid, has the name of ` +
      `${missing.join(', ')}. Rename or drop that, or choose another table name.`,
  );
}

async function readIdentity(tx: SqlHandle, tables: QueueTables): Promise<string> {
  const { rows } = await tx.query(
    `select identity::text from ${tables.migrations} where table_name = $1::text`,
    [tables.table],
  );
  return String(rows[0]?.['identity']);
}

function listWarnings(found: Inspection, tables: QueueTables, channel: string): string[] {
  const warnings: string[] = [];
  const rung = found.triggers.get(`${tables.table}_ring`);
  if (rung !== undefined && rung !== channel) {
    warnings.push(
      `inserts into ${tables.qualifiedName} ring the channel '${rung}', but this queue listens on '${channel}': ` +
        `its tasks wait for the next poll. Set queue: '${rung}', or drop the trigger ${tables.table}_ring and start again.`,
    );
  }
  return warnings;
}
