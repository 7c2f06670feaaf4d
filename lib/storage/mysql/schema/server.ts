import { TarefaError } from '../../../errors.js';
import type { Run } from '../connections/transactions.js';
import type { DialectName } from '../dialect.js';

/** What a server says of itself. */
export interface Server {
  readonly flavour: 'mysql' | 'mariadb';
  /** As it writes it. */
  readonly version: string;
  /** The connection's database; undefined without one. */
  readonly database: string | undefined;
  /** The largest text that it takes, in bytes. */
  readonly maxPacketBytes: number;
  /** True where names of databases and tables are the same in capital and in small letters. */
  readonly foldsNames: boolean;
  /** True for a node of a Galera cluster. */
  readonly isGalera: boolean;
}

const names = { mysql: 'MySQL', mariadb: 'MariaDB' } as const;
const leastVersions = { mysql: [8, 0, 22], mariadb: [10, 8, 0] } as const;

/**
 * Reads what the server is.
 *
 * @throws {TarefaError} `OPTIONS_INVALID` for one on which the queue would not keep its promises
 */
export async function inspectServer(run: Run, dialect: DialectName = 'mysql'): Promise<Server> {
  if (dialect === 'singlestore') return inspectSingleStore(run);
  const [answer] = await run(
    `-- name: inspect_server
select version() as version, @@version_comment as comment, database() as name, @@max_allowed_packet as packet,
  @@lower_case_table_names as folds`,
  );
  const { version = null, comment = null, name = null, packet = null, folds = null } = answer?.rows[0] ?? {};
  const variables = await readVariables(run, ['log_bin', 'binlog_format', 'wsrep_on']);
  const server = {
    flavour: flavourOf(version ?? ''),
    version: version ?? '',
    database: name ?? undefined,
    maxPacketBytes: Number(packet),
    foldsNames: folds !== null && folds !== '0',
    isGalera: variables.get('wsrep_on') === 'ON',
  } as const;
  const problem = problemOf(server, comment ?? '', variables);
  if (problem !== undefined) throw new TarefaError('OPTIONS_INVALID', problem);
  return server;
}

function flavourOf(version: string): Server['flavour'] {
  return /mariadb/i.test(version) ? 'mariadb' : 'mysql';
}

/** What a server is, by its version as it writes it. */
export function describeServer(version: string, dialect: DialectName = 'mysql'): string {
  if (dialect === 'singlestore') return `SingleStore ${version}`;
  return `${names[flavourOf(version)]} ${version}`;
}

/** Some servers lack some. */
async function readVariables(run: Run, variables: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const list = variables.map((name) => `'${name}'`).join(', ');
  const [answer] = await run(`show global variables where variable_name in (${list})`);
  const rows = answer?.rows ?? [];
  return new Map(rows.map((row) => [String(row['Variable_name']), String(row['Value'])]));
}

/** Why a queue cannot be kept there. Each of these servers speaks the protocol, and some take its statements without obeying. */
function problemOf(
  { flavour, version }: Pick<Server, 'flavour' | 'version'>,
  comment: string,
  variables: ReadonlyMap<string, string>,
): string | undefined {
  const told = `${version} ${comment}`;
  if (/tidb/i.test(told)) {
    return `the server is TiDB (${version}), which ignores FOR UPDATE SKIP LOCKED: two workers would run the same task. Use MySQL, MariaDB or PostgreSQL.`;
  }
  if (/vitess|planetscale/i.test(told)) {
    return `the server is Vitess (${version}), whose shards do not lock rows across statements as a queue needs. Use MySQL, MariaDB or PostgreSQL.`;
  }
  if (/singlestore|memsql/i.test(told)) {
    return `the server is SingleStore (${version}), which has no SKIP LOCKED. Set DB_DRIVER=SINGLE_STORE or driver: 'singlestore' for statements without it, which were never run on SingleStore, or use MySQL, MariaDB or PostgreSQL.`;
  }
  const least = leastVersions[flavour];
  if (isOlder(version, least)) {
    return `the server is ${describeServer(version)}; a queue needs ${names[flavour]} ${least.join('.')} or newer.`;
  }
  if (variables.get('log_bin') === 'ON' && variables.get('binlog_format') === 'STATEMENT') {
    return `the server has binlog_format = STATEMENT, which cannot replicate statements that skip locked rows. Set it to ROW or MIXED.`;
  }
  return undefined;
}

function isOlder(version: string, least: readonly number[]): boolean {
  // Some answer 5.5.5-10.11.2-MariaDB, for clients that know no newer versions.
  const parts = /(\d{1,9})\.(\d{1,9})\.(\d{1,9})/
    .exec(version.replace(/^5\.5\.5-/, ''))
    ?.slice(1)
    .map(Number);
  if (!parts) return false;
  for (const [index, wanted] of least.entries()) {
    const difference = (parts[index] ?? 0) - wanted;
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** SingleStore sets no zone for a session, and the default of a column is a time in its own. */
async function inspectSingleStore(run: Run): Promise<Server> {
  const [answer] = await run(
    `-- name: inspect_server
select version() as version, database() as name, @@max_allowed_packet as packet,
  timestampdiff(minute, utc_timestamp(), now()) as minutes
from dual`,
  );
  const { version = null, name = null, packet = null, minutes = null } = answer?.rows[0] ?? {};
  if (Math.abs(Number(minutes)) > 1) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      `the clock of the server (${version}) is ${minutes} minutes off UTC, in which a queue stores its times: set default_time_zone = '+00:00' on all its nodes.`,
    );
  }
  return {
    flavour: 'mysql',
    version: version ?? '',
    database: name ?? undefined,
    maxPacketBytes: Number(packet),
    foldsNames: false,
    isGalera: false,
  };
}
