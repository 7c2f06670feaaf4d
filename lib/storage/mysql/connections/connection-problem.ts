import { cleanText } from '../../../observability/clean-text.js';
import type { TarefaErrorCode } from '../../../errors.js';
import type { MysqlConnection } from '../../../options/mysql-connection.js';
import { quoteIdentifier } from '../identifiers.js';
import { isConnectionError, isReadOnlyError } from '../mysql-errors.js';
import { messageOf } from './lost-connection.js';
import { mysqlConfig } from './mysql-config.js';

/** Where a connection leads, and as whom. Holds no password. */
export interface ConnectionPlace {
  readonly host: string;
  readonly port: number;
  readonly socketPath: string | undefined;
  readonly database: string;
  readonly user: string;
}

/** Why a database cannot be used, in words. */
export interface ConnectionProblem {
  readonly code: Extract<TarefaErrorCode, 'DATABASE_UNREACHABLE' | 'DATABASE_REFUSED' | 'RIGHTS_MISSING'>;
  /** What happened, in one line. */
  readonly text: string;
  /** What to do about it. */
  readonly todo: string;
}

export function placeOf(connection: MysqlConnection): ConnectionPlace {
  const { host = 'localhost', port = 3306, socketPath, database = '', user = '' } = mysqlConfig(connection);
  return { host, port, socketPath, database, user };
}

/** ``host db, port 3306, database `shop`, user `ana` ``. */
export function describePlace({ host, port, socketPath, database, user }: ConnectionPlace): string {
  const where = socketPath === undefined ? `host ${host}, port ${port}` : `socket ${socketPath}`;
  return `${where}, database ${quoteIdentifier(database)}, user ${quoteIdentifier(user)}`;
}

/** What went wrong with a connection or a statement at the start; undefined when it was something else. */
export function connectionProblem(error: unknown, place: ConnectionPlace): ConnectionProblem | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errno, code } = error as { readonly errno?: unknown; readonly code?: unknown };
  const refusal = refusalOf(errno, error, place);
  if (refusal) return refusal;
  if (isTls(String(code), error)) {
    return refused(
      `the encrypted connection failed: ${said(error)}`,
      'Set the option ssl as the server requires.',
    );
  }
  if (errno === tooManyConnections || code === 'ENOENT' || isConnectionError(error)) {
    return unreachable(String(code), error, place);
  }
  if (typeof errno !== 'number' || errno < 1_000) return undefined;
  return refused(`the server refused: ${said(error)}`, 'Do what the server asks for.');
}

const tooManyConnections = 1040;

function refused(text: string, todo: string): ConnectionProblem {
  return { code: 'DATABASE_REFUSED', text, todo };
}

/** Refused for good: it would be refused again. */
function refusalOf(errno: unknown, error: Error, place: ConnectionPlace): ConnectionProblem | undefined {
  const [user, database] = [quoteIdentifier(place.user), quoteIdentifier(place.database)];
  switch (errno) {
    case 1045:
    case 1698:
      return refused(
        `the password of the user ${user} is missing or wrong, or no such user may connect from here`,
        'Correct it in the option connection, in its variable, or with `alter user … identified by …`. In a URL, special characters are written as %XX.',
      );
    case 1049:
      return refused(
        `the database ${database} does not exist on that server`,
        `Correct its name, or create it:\n\ncreate database ${database};\n`,
      );
    case 1044:
      return {
        code: 'RIGHTS_MISSING',
        text: `the user ${user} may not use the database ${database}: ${said(error)}`,
        todo: `Run as an administrator:\n\ngrant all on ${database}.* to ${user};\n`,
      };
    case 1130:
    case 1129:
      return refused(
        `the server does not allow connections from this machine: ${said(error)}`,
        'Create the user for this host, or run `flush hosts`.',
      );
    default:
      return isReadOnlyError(error)
        ? refused(
            'the server is read-only: it is a replica, or read_only is on',
            'Connect to the primary server.',
          )
        : undefined;
  }
}

function unreachable(
  code: string,
  error: Error,
  { host, port, socketPath }: ConnectionPlace,
): ConnectionProblem {
  const at = socketPath ?? `${host}:${port}`;
  const known: Readonly<Record<string, string>> = {
    ENOTFOUND: `the host ${JSON.stringify(host)} does not exist`,
    EAI_AGAIN: `no name server could resolve the host ${JSON.stringify(host)}`,
    ECONNREFUSED: `no server is listening at ${at}`,
    ENOENT: `no server is listening at ${at}`,
    ER_CON_COUNT_ERROR: `the server at ${at} has no connections left`,
  };
  return {
    code: 'DATABASE_UNREACHABLE',
    text: `${known[code] ?? `the server at ${at} did not answer`} (${said(error)})`,
    todo: 'Start the server, or correct the address. connectRetryMs sets how long a start waits for it.',
  };
}

function isTls(code: string, error: Error): boolean {
  return /CERT|SSL|TLS|ALTNAME/.test(code) || /secure connection/i.test(error.message);
}

/** What the server or the system said, in one line. */
function said(error: Error): string {
  return cleanText(messageOf(error), 300);
}
