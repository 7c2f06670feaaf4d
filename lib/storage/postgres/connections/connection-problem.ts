import { Client } from 'pg';
import { cleanText } from '../../../observability/clean-text.js';
import { connectionConfig, isConnectionError, messageOf } from './connection-config.js';
import type { PostgresConnection } from '../../../options/postgres-connection.js';
import type { StartPlace, StartProblem } from '../../start-problem.js';
import { quoteIdentifier } from '../identifiers.js';

/** Where a connection leads, and as whom. Holds no password. */
interface ConnectionPlace {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly role: string;
}

/** Where a start connects by a connection. */
export function startPlace(connection: PostgresConnection): StartPlace {
  const { host, port, database: named, user } = new Client(connectionConfig(connection));
  const [role, database] = [user ?? '', named ?? user ?? ''];
  return {
    description: `host ${host}, port ${port}, database ${quoteIdentifier(database)}, role ${quoteIdentifier(role)}`,
    problemOf: (error) => problemOf(error, { host, port, database, role }),
  };
}

function problemOf(error: unknown, place: ConnectionPlace): StartProblem | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = codeOf(error);
  const problem = refusalOf(code, error, place);
  if (problem) return problem;
  if (code === '53300' || code === 'ENOENT' || isConnectionError(error))
    return unreachable(code, error, place);
  if (!/^[0-9A-Z]{5}$/.test(code) && !isTls(code, error)) return undefined;
  return {
    code: code === '42501' ? 'RIGHTS_MISSING' : 'DATABASE_REFUSED',
    text: `PostgreSQL refused: ${said(error)}`,
    todo: isTls(code, error)
      ? 'Set the option ssl of the connection, or sslmode in its URL, as the server requires.'
      : 'Do what PostgreSQL asks for.',
  };
}

/** Refused for good: it would be refused again. */
function refusalOf(code: string, error: Error, place: ConnectionPlace): StartProblem | undefined {
  const role = quoteIdentifier(place.role);
  const database = quoteIdentifier(place.database);
  const refused = (text: string, todo: string): StartProblem => ({
    code: 'DATABASE_REFUSED',
    text,
    todo,
  });
  // A pooler says so by another code than PostgreSQL.
  const byPooler = code === '08P01' && /auth|password|no such|not allowed/i.test(error.message);
  if (code === '28P01' || /^SASL/.test(error.message)) {
    return refused(
      `the password of the role ${role} is missing or wrong, or the role does not exist`,
      'Correct it in the option connection, in its variable, or with `alter role … password …`. In a URL, special characters are written as %XX.',
    );
  }
  if (code === '28000' || byPooler) {
    return refused(
      `the server does not let the role ${role} connect: ${said(error)}`,
      'Correct the role, create it (`create role … login password …`), or allow it in pg_hba.conf.',
    );
  }
  if (code === '3D000') {
    return refused(
      `the database ${database} does not exist on that server`,
      `Correct its name, or create it:\n\ncreate database ${database} owner ${role};\n`,
    );
  }
  if (code === '42501' && isOfConnection(error)) {
    return {
      code: 'RIGHTS_MISSING',
      text: `the role ${role} may not connect to the database ${database}`,
      todo: `Run as the owner of the database:\n\ngrant connect on database ${database} to ${role};\n`,
    };
  }
  if (code === '25006') {
    return refused(
      'the server is read-only: it is a standby, or default_transaction_read_only is on',
      'Connect to the primary server.',
    );
  }
  return undefined;
}

function unreachable(code: string, error: Error, { host, port }: ConnectionPlace): StartProblem {
  const at = host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : `${host}:${port}`;
  const known: Readonly<Record<string, string>> = {
    ENOTFOUND: `the host ${JSON.stringify(host)} does not exist`,
    EAI_AGAIN: `no name server could resolve the host ${JSON.stringify(host)}`,
    ECONNREFUSED: `no server is listening at ${at}`,
    ENOENT: `no server is listening at ${at}`,
    '57P03': `the server at ${at} is starting or stopping`,
    '53300': `the server at ${at} has no connections left`,
  };
  return {
    code: 'DATABASE_UNREACHABLE',
    text: `${known[code] ?? `the server at ${at} did not answer`} (${said(error)})`,
    todo: 'Start PostgreSQL, or correct the address. connectRetryMs sets how long a start waits for it.',
  };
}

/** The function of the server's that asks for the right to connect: its message is in the server's language. */
function isOfConnection(error: Error): boolean {
  return (error as { readonly routine?: unknown }).routine === 'CheckMyDatabase';
}

function isTls(code: string, error: Error): boolean {
  return /CERT|SSL|TLS|ALTNAME/.test(code) || /does not support SSL/.test(error.message);
}

function codeOf(error: Error): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** What the server or the system said, in one line. */
function said(error: Error): string {
  return cleanText(messageOf(error), 300);
}
