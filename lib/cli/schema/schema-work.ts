import type { SqlHandle } from '../../storage/sql-handle.js';
import { TarefaError } from '../../errors.js';
import { type QueueTables } from '../../storage/postgres/identifiers.js';
import { parseTableName, subscriptionTableNameProblem } from '../../values/table-name.js';
import type { QueueNames } from '../../storage/postgres/schema/inspect-schema.js';
import { SchemaSession, type StatementProgress } from '../../storage/postgres/migration/schema-session.js';
import type { Step, StepHooks } from '../../storage/postgres/migration/step.js';
import type { ResolvedOptions } from '../../options/resolve-options.js';
import type { PostgresSchemaDatabase, SchemaDatabase } from '../../assembly/operators.js';
import { UsageError, type CommandCall } from '../command.js';
import type { Output } from '../output/output.js';
import type { Progress } from '../output/progress-bar.js';

/** A step as `--json` shows it. */
export interface StepReport {
  readonly what: string;
  readonly lock: string;
  readonly sql: readonly string[];
  /** How long it took; missing while it was not done. */
  ms?: number;
}

/** What is said of a step before it is done. */
export type PlannedStep = Pick<Step, 'what' | 'lock' | 'sql'>;

/** Which queue the options mean. */
export function queueNames(options: ResolvedOptions, webhooks: boolean): QueueNames {
  return {
    table: parseTableName(options.table),
    subscriptionTable:
      options.subscriptionTable === undefined
        ? undefined
        : parseTableName(options.subscriptionTable, subscriptionTableNameProblem),
    channel: options.queue,
    webhooks,
  };
}

/** @throws {UsageError} elsewhere, with the reason */
export function onlyPostgres(database: SchemaDatabase, why: string): PostgresSchemaDatabase {
  if (database.driver === 'postgres') return database;
  throw new UsageError(why);
}

/** Runs work in a session that changes tables, tells what it waits for, and says what Ctrl-C has left. */
export async function withSchemaSession<T>(
  { output, signal }: CommandCall,
  { pool }: PostgresSchemaDatabase,
  work: (session: SchemaSession) => Promise<T>,
): Promise<T> {
  const bar = new PhaseBar(output);
  const session = await SchemaSession.open(pool, {
    signal,
    onWait: (text) => output.note(text),
    onProgress: (progress) => bar.show(progress),
  });
  try {
    return await work(session);
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new TarefaError(
      'SCHEMA_BUSY',
      'interrupted: what was done stays. Run the command again to continue',
      {
        cause: error,
      },
    );
  } finally {
    bar.end();
    await session.close();
  }
}

/** One line per step that was done; what was done is written into the reports. */
export function stepLines(output: Output, reports: readonly StepReport[]): StepHooks {
  return {
    onEnd: (step, index, total, ms) => {
      const report = reports[index];
      if (report) report.ms = Math.round(ms);
      output.line(`${index + 1}/${total} ${step.what} (${(ms / 1_000).toFixed(1)} s)`);
    },
  };
}

/** Steps for `--json`. */
export function stepReports(steps: readonly PlannedStep[]): StepReport[] {
  return steps.map(({ what, lock, sql }) => ({ what, lock, sql }));
}

/** Steps as `--plan` shows them: two lines each, because what is locked is what matters. */
export function printSteps(output: Output, steps: readonly PlannedStep[]): void {
  for (const [index, { what, lock }] of steps.entries()) {
    output.line(`${index + 1}/${steps.length} ${what}`);
    output.line(`    lock: ${lock}`);
  }
}

/**
 * Only the owner of a table may change it.
 *
 * @throws {TarefaError} `SCHEMA_CONFLICT`
 */
export async function refuseWithoutRights(sql: SqlHandle, tables: QueueTables): Promise<void> {
  const { rows } = await sql.query(
    `select current_user::text as role, pg_get_userbyid(c.relowner)::text as owner, pg_has_role(c.relowner, 'usage') as owns,
       has_schema_privilege(c.relnamespace, 'create') as creates
     from pg_class c where c.oid = to_regclass($1::text)`,
    [tables.queue],
  );
  const [row] = rows;
  if (!row || (row['owns'] === true && row['creates'] === true)) return;
  const role = String(row['role']);
  const lacks =
    row['owns'] === true
      ? `may not create anything in the schema ${tables.schema}: grant create on schema ${tables.quotedSchema} to it`
      : `does not own ${tables.qualifiedName}: connect as ${String(row['owner'])}, or as a member of that role`;
  throw new TarefaError('SCHEMA_CONFLICT', `the role ${role} ${lacks}`);
}

/** A bar per phase of a long statement. */
class PhaseBar {
  readonly #output: Output;
  #phase = '';
  #done = 0;
  #progress: Progress | undefined;

  constructor(output: Output) {
    this.#output = output;
  }

  show({ phase, done, total }: StatementProgress): void {
    if (total === 0) return;
    if (phase !== this.#phase) {
      this.end();
      this.#phase = phase;
      this.#progress = this.#output.progress(phase, total);
    }
    this.#progress?.advance(Math.max(0, done - this.#done));
    this.#done = Math.max(done, this.#done);
  }

  end(): void {
    this.#progress?.end();
    this.#progress = undefined;
    this.#phase = '';
    this.#done = 0;
  }
}
