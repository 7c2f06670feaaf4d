import { TarefaError } from '../../../errors.js';
import type { SqlHandle } from '../../sql-handle.js';
import type { QueueTables } from '../identifiers.js';
import {
  inspectSchema,
  isForeign,
  isPartitioned,
  listMissing,
  missingIndexes,
  refuseConflicts,
  resolveTables,
  type Inspection,
  type QueueNames,
} from './inspect-schema.js';
import { migrationLockKey, schemaLockKey } from '../migration/schema-locks.js';
import { partitionedLayout } from '../partitions/partitioned-layout.js';
import { insertFunctionName, insertFunctionSignature } from './insert-function.js';
import { ownName } from './schema-objects.js';
import {
  checkRights,
  refuseHiddenSchema,
  refuseWithoutCreation,
  type RightsRequest,
} from './schema-rights.js';
import { refuseRowSecurity } from './row-security.js';
import { refuseUnfitServer } from './server.js';
import { plainLayout, recordQueueSql, schemaStatements, type TableLayout } from './schema-statements.js';
import { ownColumns } from './schema.js';

/** What `prepareSchema` is asked for. */
export interface SchemaRequest extends QueueNames, RightsRequest {
  readonly mode: 'create' | 'check';
  /** Leaves a table of nsj-queue-lib as it is, and refuses it. Default: what it lacks is made like anything else that is missing. */
  readonly refusesForeign?: boolean;
  /** Layout of a new queue; an existing table keeps its layout. Default: plain. */
  readonly layout?: TableLayout;
}

/** What it found or made. */
export interface PreparedSchema {
  readonly tables: QueueTables;
  readonly isPartitioned: boolean;
  /**
   * Random identity of this queue, written when its table was made; part of every task's key. Undefined in a process that
   * only produces and may not read it.
   */
  readonly identity: string | undefined;
  /** True when this role may read the key that deliveries are sealed with. */
  readonly seals: boolean;
  /** The function by which this role may insert, quoted; undefined without one. */
  readonly insertFunction: string | undefined;
  /** True in a process that only produces, of whose role policies decide which rows it sees: it is warned, and does as before. */
  readonly heedsPolicies: boolean;
  /** Encoding of stored texts, as `server_encoding` names it. */
  readonly encoding: string;
  /** What works with a limitation: for the log. */
  readonly warnings: readonly string[];
  /** What this call made; empty when nothing was missing. */
  readonly made: readonly string[];
}

/** A start builds no index on a table with more rows than this, because that keeps inserts waiting. */
const mostRowsUnderLock = 100_000;

/**
 * Creates the missing parts of a queue, or names them.
 *
 * @param run runs its argument inside one transaction
 * @throws {TarefaError} `OPTIONS_INVALID` (the server is too old), `SCHEMA_MISSING` (mode `check`, or too much to make at a start),
 * `SCHEMA_CONFLICT`, `RIGHTS_MISSING`
 */
export async function prepareSchema(
  run: <T>(work: (tx: SqlHandle) => Promise<T>) => Promise<T>,
  request: SchemaRequest,
): Promise<PreparedSchema> {
  return run(async (tx) => {
    // Types are compared as the server writes them. Behind a pooler no setting of the session's says how.
    await tx.query('set local quote_all_identifiers = off');
    await refuseUnfitServer(tx);
    const tables = await resolveTables(tx, request);
    await refuseHiddenSchema(tx, tables, request);
    const policies = await refuseRowSecurity(tx, tables, request);
    const found = await inspectSchema(tx, tables);
    const missing = listMissing(found, tables, request);
    refuseConflicts(found, tables);
    if (request.refusesForeign && isForeign(found)) {
      throw new TarefaError(
        'SCHEMA_MISSING',
        `${tables.queue} is a table of nsj-queue-lib, which a process that only serves does not change: run \`npx tarefa adopt ` +
          `${tables.qualifiedName}\` first, after which its Python workers keep working as before`,
      );
    }
    if (missing.length > 0 && request.mode === 'check') {
      const problem =
        found.queueColumns.size === 0
          ? `the table ${tables.qualifiedName} does not exist: check the name, or create the queue`
          : `the queue ${tables.qualifiedName} is incomplete: missing ${missing.join(', ')}`;
      throw new TarefaError(
        'SCHEMA_MISSING',
        `${problem}. Start once with schema: 'create', or run \`npx tarefa migrate\`, or the statements of docs/reference/schema.md.`,
      );
    }
    const made = missing.length > 0 && request.mode === 'create' ? await create(tx, tables, request) : [];
    const { seals, warnings } = await checkRights(tx, tables, request);
    // Refused by a server that only reads: there a worker could not even be written down.
    if (request.works !== false) await tx.query(`update ${tables.workers} set pid = pid where id < 0`);
    const encoding = await readEncoding(tx);
    return {
      tables,
      encoding,
      isPartitioned: await isPartitioned(tx, tables),
      identity: found.isVersionHidden ? undefined : await readIdentity(tx, tables),
      seals,
      heedsPolicies: policies.length > 0,
      insertFunction: (await mayInsertByFunction(tx, tables)) ? insertFunctionName(tables) : undefined,
      warnings: [
        ...listWarnings(found, tables, request.channel),
        ...encodingWarnings(encoding),
        ...warnings,
        ...policies,
      ],
      made,
    };
  });
}

/** Returns what was missing. */
async function create(
  tx: SqlHandle,
  tables: QueueTables,
  request: SchemaRequest,
): Promise<readonly string[]> {
  // Workers that start together take turns, also those of different queues: they share schema and migrations.
  await tx.query(`select pg_advisory_xact_lock(${schemaLockKey})`);
  // A start must not wait long for a table in use.
  await tx.query(`set local lock_timeout = '10s'`);
  const { rows } = await tx.query(
    `select to_regnamespace($1::text) is null as absent, pg_try_advisory_xact_lock_shared(${migrationLockKey(tables)}) as free`,
    [tables.quotedSchema],
  );
  if (rows[0]?.['free'] !== true) throw migrating(tables);
  await refuseWithoutCreation(tx, tables, { request, existing: [tables.queue] });
  if (rows[0]['absent'] === true) await tx.query(`create schema if not exists ${tables.quotedSchema}`);
  // Looked at again under the lock of those who create: an existing ring trigger keeps its channel, because replacing it
  // would silence the workers that listen there.
  const found = await inspectSchema(tx, tables);
  const missing = listMissing(found, tables, request);
  if (missing.length === 0) return missing;
  refuseLongLock(found, tables);
  const { channel, webhooks } = request;
  const layout = found.queueColumns.size > 0 ? layoutOf(found) : request.layout;
  const rings = !found.triggers.has(ownName(tables, 'ring'));
  for (const text of schemaStatements(tables, channel, { rings, webhooks, ...(layout && { layout }) })) {
    await tx.query(text).catch((error: unknown) => {
      throw explainDuplicates(error, tables);
    });
  }
  await tx.query(recordQueueSql(tables));
  refuseTakenNames(listMissing(await inspectSchema(tx, tables), tables, request), tables);
  return missing;
}

function layoutOf(found: Inspection): TableLayout {
  return found.isPartitioned ? partitionedLayout() : plainLayout;
}

function migrating({ qualifiedName }: QueueTables): TarefaError {
  return new TarefaError(
    'SCHEMA_MISSING',
    `the tables of the queue ${qualifiedName} are being changed by \`tarefa migrate\` or \`tarefa adopt\`: start again when it has finished`,
  );
}

/** Building an index inside of a transaction keeps every producer waiting until it is built. */
function refuseLongLock(found: Inspection, tables: QueueTables): void {
  const indexes = missingIndexes(found, tables);
  if (found.rows < mostRowsUnderLock || indexes.length === 0) return;
  const isOurs = ownColumns.some(({ name }) => found.queueColumns.has(name));
  const command = isOurs ? 'npx tarefa migrate' : `npx tarefa adopt ${tables.qualifiedName}`;
  throw new TarefaError(
    'SCHEMA_MISSING',
    `${tables.qualifiedName} has about ${found.rows.toLocaleString('en')} rows and lacks ${indexes.join(', ')}: building indexes at a start would keep ` +
      `every producer waiting. Run \`${command}\`, which builds them while the queue is in use.`,
  );
}

/** `if not exists` is silent about something else of that name: an index of another table, an invalid one. */
function refuseTakenNames(missing: readonly string[], tables: QueueTables): void {
  if (missing.length === 0) return;
  throw new TarefaError(
    'SCHEMA_CONFLICT',
    `the queue ${tables.qualifiedName} cannot be completed: something else, or something invalid, already has the name of ` +
      `${missing.join(', ')}. Rename or drop that, or choose another table name; \`npx tarefa migrate\` rebuilds invalid indexes.`,
  );
}

/** Duplicates that workers without a fence have left. */
function explainDuplicates(error: unknown, { qualifiedName }: QueueTables): unknown {
  const { code, detail } = error as { readonly code?: unknown; readonly detail?: unknown };
  if (code !== '23505') return error;
  return new TarefaError(
    'SCHEMA_CONFLICT',
    `${qualifiedName} holds duplicate attempts (${String(detail)}): \`npx tarefa adopt ${qualifiedName}\` shows which, and tells them apart`,
    { cause: error },
  );
}

async function readIdentity(tx: SqlHandle, tables: QueueTables): Promise<string> {
  const { rows } = await tx.query(
    `select identity::text from ${tables.migrations} where table_name = $1::text`,
    [tables.table],
  );
  return String(rows[0]?.['identity']);
}

/** Whoever may insert may run it, unless it was revoked. */
async function mayInsertByFunction(tx: SqlHandle, tables: QueueTables): Promise<boolean> {
  const { rows } = await tx.query(
    `select has_function_privilege(to_regprocedure($1::text), 'execute') as may`,
    [insertFunctionSignature(tables)],
  );
  return rows[0]?.['may'] === true;
}

async function readEncoding(tx: SqlHandle): Promise<string> {
  const { rows } = await tx.query(`select current_setting('server_encoding') as encoding`);
  return String(rows[0]?.['encoding']);
}

/** In SQL_ASCII any client can insert bytes that no program reads. */
function encodingWarnings(encoding: string): readonly string[] {
  return encoding === 'SQL_ASCII'
    ? [
        'the database has the encoding SQL_ASCII, which accepts any bytes: a task with bytes that are not UTF-8 cannot be read, ' +
          'and fails without being run. Move to a UTF8 database when you can.',
      ]
    : [];
}

function listWarnings(found: Inspection, tables: QueueTables, channel: string): string[] {
  const warnings: string[] = [];
  const current = found.triggers.get(ownName(tables, 'ring'));
  if (current !== undefined && current !== channel) {
    warnings.push(
      `inserts into ${tables.qualifiedName} ring the channel '${current}', but this queue listens on '${channel}': ` +
        `its tasks wait for the next poll. Set queue: '${current}', or drop the trigger ${ownName(tables, 'ring')} and start again.`,
    );
  }
  return warnings;
}
