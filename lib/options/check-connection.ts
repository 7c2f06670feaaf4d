import type { OptionCheck } from './option-check.js';
import type { PostgresConnection } from './postgres-connection.js';

/** Says why a driver cannot use a connection as it is written; undefined when it can. */
export type ConnectionProblem = (connection: PostgresConnection) => string | undefined;

/** Never shows the value: it may hold a password. */
export function checkConnection(
  option: string,
  connection: unknown,
  check: OptionCheck,
  problemOf: ConnectionProblem,
): void {
  if (connection === 'embedded' && option === 'connection') return;
  const isUrl = typeof connection === 'string' && /^(postgres|postgresql|socket):\/\/|^\//.test(connection);
  if (!isUrl && (typeof connection !== 'object' || connection === null)) {
    return check.mistake(
      `${option} must be a URL that begins with postgres://, or a configuration or pool of pg` +
        `${option === 'connection' ? `, or 'embedded'` : ''}${connection === '' ? ': it is empty' : ''}`,
    );
  }
  const mistake = problemOf(connection) ?? (isUrl && hasCutPassword(connection) ? misreadUrl : undefined);
  if (mistake !== undefined) check.mistake(`${option} ${mistake}`);
}

/** What is said of an address that is not what it seems. */
export const misreadUrl = 'cannot be read as a URL: write special characters of the password as %XX';

/** A password with `/`, `?` or `#` ends the host too early: what stands behind it would be shown as a database. */
function hasCutPassword(connection: string): boolean {
  if (!URL.canParse(connection)) return false;
  const { username, pathname, search, hash } = new URL(connection);
  // Values of parameters may have one: `?user=sa@project.iam`.
  const [beforeValues = ''] = search.split('=');
  return username === '' && `${pathname}${beforeValues}${hash}`.includes('@');
}
