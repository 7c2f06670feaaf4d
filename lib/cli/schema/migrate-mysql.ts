import type { MysqlSchemaDatabase } from '../../assembly/mysql-schema-database.js';
import {
  inspectSchema,
  listMissing,
  namesOn,
  refuseConflicts,
  resolveTables,
  type QueueNames,
} from '../../storage/mysql/schema/inspect-schema.js';
import { prepareSchema } from '../../storage/mysql/schema/prepare-schema.js';
import { schemaVersion } from '../../storage/mysql/schema/schema.js';
import { inspectServer } from '../../storage/mysql/schema/server.js';
import type { CommandCall, ExitCode } from '../command.js';
import { flagOption } from '../option-values.js';
import { printSteps, queueNames, stepReports, type PlannedStep } from './schema-work.js';

/** What `tarefa migrate` does on MySQL and MariaDB. */
export async function migrateMysql(
  { options, output }: CommandCall,
  { pool, dialect, options: queue }: MysqlSchemaDatabase,
): Promise<ExitCode> {
  const names: QueueNames = { ...queueNames(queue, flagOption(options, 'webhooks')), dialect };
  const isCheck = flagOption(options, 'check');
  const found = await look({ pool }, names);
  const { table, version, missing } = found;
  const where = version === undefined ? 'not found' : `version ${version} of ${schemaVersion}`;
  output.line(`${table}: ${where}${missing.length === 0 ? ', nothing to do' : ''}`);
  const steps = missing.map((what): PlannedStep => ({ what: `create ${what}`, lock: 'none', sql: [] }));
  const report = (isDone: boolean): unknown => ({
    table,
    version: version ?? null,
    wantedVersion: schemaVersion,
    upToDate: isDone || missing.length === 0,
    steps: stepReports(steps),
  });
  if (isCheck || flagOption(options, 'plan')) {
    printSteps(output, steps);
    output.json(report(false));
    return isCheck && missing.length > 0 ? 3 : 0;
  }
  const { made, warnings } = await pool.use((run) => prepareSchema(run, { ...names, mode: 'create' }));
  for (const warning of warnings) output.note(warning);
  for (const [index, what] of made.entries()) output.line(`${index + 1}/${made.length} create ${what}`);
  if (made.length > 0) output.line(`${table} is up to date`);
  output.json(report(true));
  return 0;
}

/** What there is, and what of a queue is missing. */
interface Found {
  readonly table: string;
  /** Undefined where there is no queue. */
  readonly version: number | undefined;
  readonly missing: readonly string[];
}

function look({ pool }: Pick<MysqlSchemaDatabase, 'pool'>, asked: QueueNames): Promise<Found> {
  return pool.use(async (run) => {
    const server = await inspectServer(run, asked.dialect);
    const names = namesOn(server, asked);
    const tables = resolveTables(server.database, names);
    const found = await inspectSchema(run, tables, names);
    refuseConflicts(found, tables, names);
    return {
      table: tables.qualifiedName,
      version: found.version,
      missing: listMissing(found, tables, names),
    };
  });
}
