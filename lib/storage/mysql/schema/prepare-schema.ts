import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { TarefaError } from '../../../errors.js';
import type { Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import {
  inspectSchema,
  listMissing,
  namesOn,
  refuseConflicts,
  resolveTables,
  type QueueNames,
} from './inspect-schema.js';
import { ownName, sealKeys } from './schema-objects.js';
import { isRefusal } from './refusals.js';
import { checkRights, refusedCreation, type RightsRequest } from './schema-rights.js';
import { insertSealSql, recordQueueSql, tableStatements, triggerStatements } from './schema-statements.js';
import { inspectServer, type Server } from './server.js';

/** What `prepareSchema` is asked for. */
export interface SchemaRequest extends QueueNames, RightsRequest {
  readonly mode: 'create' | 'check';
}

/** What it found or made. */
export interface PreparedQueue {
  readonly tables: QueueTables;
  readonly server: Server;
  /**
   * Random identity of this queue, written when its table was made; part of every task's key. Undefined in a process that
   * only produces and may not read it.
   */
  readonly identity: string | undefined;
  /** True when this user may read the key that deliveries are sealed with. */
  readonly seals: boolean;
  /** What works with a limitation: for the log. */
  readonly warnings: readonly string[];
  /** What this call made; empty when nothing was missing. */
  readonly made: readonly string[];
}

/** How long a start waits for others that make tables. */
const lockSeconds = 60;

/**
 * Creates the missing parts of a queue, or names them. Statements that make tables commit by themselves, so that a start that is
 * cut off leaves some of them, and the next one makes the rest.
 *
 * @param run runs statements on one connection
 * @throws {TarefaError} `SCHEMA_MISSING` (mode `check`), `SCHEMA_CONFLICT`, `RIGHTS_MISSING`; `OPTIONS_INVALID` for a server
 * that cannot keep a queue
 */
export async function prepareSchema(run: Run, asked: SchemaRequest): Promise<PreparedQueue> {
  const server = await inspectServer(run, asked.dialect);
  const request = namesOn(server, asked);
  const tables = resolveTables(server.database, request);
  const found = await inspectSchema(run, tables, request);
  refuseConflicts(found, tables, request);
  const missing = listMissing(found, tables, request);
  if (missing.length > 0 && request.mode === 'check') {
    const problem = found.columns.has(`${tables.database}.${tables.table}`)
      ? `the queue ${tables.qualifiedName} is incomplete: missing ${missing.join(', ')}`
      : `the table ${tables.qualifiedName} does not exist${found.seesAll ? '' : ', or this user may not see it'}: check the name, or create the queue`;
    throw new TarefaError(
      'SCHEMA_MISSING',
      `${problem}. Start once with schema: 'create', or run \`npx tarefa migrate\`.`,
    );
  }
  const made = missing.length > 0 ? await create(run, tables, request) : [];
  const { seals, warnings } = await checkRights(run, tables, request);
  return { tables, server, identity: await readIdentity(run, tables, request), seals, warnings, made };
}

/** Returns what was missing. */
async function create(run: Run, tables: QueueTables, request: SchemaRequest): Promise<readonly string[]> {
  // Two that start at once may meet there while they make the view; what the other has made is found at the next start.
  if (tables.dialect === 'singlestore') return createMissing(run, tables, request);
  const lock = schemaLock(tables);
  const [answer] = await run(`select get_lock(?, ${lockSeconds}) as locked`, [lock]);
  if (answer?.rows[0]?.['locked'] !== '1') {
    throw new TarefaError(
      'SCHEMA_BUSY',
      `the tables of the queue ${tables.qualifiedName} are being created by another process, which has not finished in ${lockSeconds} s: start again when it has`,
    );
  }
  try {
    return await createMissing(run, tables, request);
  } finally {
    await run('select release_lock(?)', [lock]).catch(() => undefined);
  }
}

async function createMissing(
  run: Run,
  tables: QueueTables,
  request: SchemaRequest,
): Promise<readonly string[]> {
  try {
    // Looked at again under the lock of those who create.
    const found = await inspectSchema(run, tables, request);
    const missing = listMissing(found, tables, request);
    if (missing.length === 0) return missing;
    for (const text of tableStatements(tables, request.webhooks)) await run(text);
    if (!found.triggers.has(ownName(tables, 'schedule'))) {
      for (const text of triggerStatements(tables)) await run(text);
    }
    await run(insertSealSql(tables), [...sealKeys(await promisify(randomBytes)(64))]);
    await run(recordQueueSql(tables), [tables.table, randomUUID()]);
    return missing;
  } catch (error) {
    throw isRefusal(error) ? await refusedCreation(run, tables, error) : error;
  }
}

/** Names of locks are the server's, and at most 64 characters long. */
function schemaLock({ database }: QueueTables): string {
  return `tarefa:schema:${createHash('sha256').update(database).digest('hex').slice(0, 32)}`;
}

async function readIdentity(
  run: Run,
  { migrations, table }: QueueTables,
  { works }: RightsRequest,
): Promise<string | undefined> {
  try {
    const [answer] = await run(`select identity from ${migrations} where table_name = ?`, [table]);
    return answer?.rows[0]?.['identity'] ?? undefined;
  } catch (error) {
    if (works === false && isRefusal(error)) return undefined;
    throw error;
  }
}
