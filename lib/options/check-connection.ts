import type { OptionCheck } from './option-check.js';
import type { QueueOptions } from './queue-options.js';
import { connectionOf, type QueueConnection } from './queue-connection.js';

/** Says why a driver cannot use a connection as it is written; undefined when it can. */
export type ConnectionProblem = (connection: QueueConnection) => string | undefined;

/** Where a queue's database is; `'embedded'` where that cannot be told. Never shows the value: it may hold a password. */
export function checkConnection(
  given: QueueOptions['connection'],
  check: OptionCheck,
  problemOf: ConnectionProblem,
): QueueConnection {
  if (given === undefined || given === 'embedded') return embedded;
  if (!isAddress(given, /^(?:postgres|postgresql|socket|mysql|mariadb):\/\/|^\//i)) {
    const what = `a URL that begins with postgres://, mysql:// or mariadb://, a configuration or pool of pg or mysql2, or 'embedded'`;
    check.mistake(`connection must be ${what}${instead(given)}`);
    return embedded;
  }
  const connection = connectionOf(given);
  checkAddress('connection', connection, check, problemOf);
  return connection;
}

/** Checks the connection for sessions, which only PostgreSQL has. */
export function checkSessionConnection(
  given: QueueOptions['sessionConnection'],
  check: OptionCheck,
  problemOf: ConnectionProblem,
): void {
  if (given === undefined) return;
  if (!isAddress(given, /^(?:postgres|postgresql|socket):\/\/|^\//i)) {
    const what = 'a URL that begins with postgres://, or a configuration or pool of pg';
    return check.mistake(`sessionConnection must be ${what}${instead(given)}`);
  }
  checkAddress('sessionConnection', { driver: 'postgres', address: given }, check, problemOf);
}

const embedded = { driver: 'postgres', address: 'embedded' } as const;

function isAddress(given: unknown, url: RegExp): boolean {
  if (typeof given === 'string') return url.test(given);
  return typeof given === 'object' && given !== null && !isForeign(given);
}

/** Settings of which a configuration has at least one as text, unless it leaves all of them to the environment. */
const settings = ['connectionString', 'uri', 'host', 'socketPath', 'user', 'database', 'password'];

/** An object that connects by itself and is no pool of a driver: of an ORM, a query builder, a single connection. */
function isForeign(given: object): boolean {
  const has = (name: string, type: string): boolean =>
    typeof (given as Record<string, unknown>)[name] === type;
  if (has('getConnection', 'function')) return false;
  if (has('connect', 'function')) return !has('totalCount', 'number');
  const prototype: unknown = Object.getPrototypeOf(given);
  const isPlain = prototype === null || prototype === Object.prototype;
  return !isPlain && !settings.some((name) => has(name, 'string'));
}

/** What it is instead, as far as that holds no password. */
function instead(given: unknown): string {
  if (given === '') return ': it is empty';
  if (typeof given === 'function' || (typeof given === 'object' && given !== null)) {
    return ', not an ORM, a query builder or a single connection: give the URL it connects to, or its pool';
  }
  const scheme = typeof given === 'string' ? /^[a-z][\w+.-]*:\/\//i.exec(given)?.[0] : undefined;
  return scheme === undefined ? '' : `, not one that begins with ${scheme}`;
}

function checkAddress(
  option: string,
  connection: QueueConnection,
  check: OptionCheck,
  problemOf: ConnectionProblem,
): void {
  const { address } = connection;
  const cut = typeof address === 'string' && hasCutPassword(address) ? misreadUrl : undefined;
  const mistake = problemOf(connection) ?? cut;
  if (mistake !== undefined) check.mistake(`${option} ${mistake}`);
}

/** What is said of an address that is not what it seems. */
export const misreadUrl = 'cannot be read as a URL: write special characters of the password as %XX';

/** A password with `/`, `?` or `#` ends the host too early: what stands behind it would be shown as a database. */
function hasCutPassword(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { username, pathname, search, hash } = new URL(address);
  // Values of parameters may have one: `?user=sa@project.iam`.
  const [beforeValues = ''] = search.split('=');
  return username === '' && `${pathname}${beforeValues}${hash}`.includes('@');
}
