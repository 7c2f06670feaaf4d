import type { OptionCheck } from './option-check.js';
import { connectionKey } from '../storage/postgres/connections/connection-config.js';

/** Never shows the value: it may hold a password. */
export function checkConnection(option: string, connection: unknown, check: OptionCheck): void {
  if (connection === 'embedded' && option === 'connection') return;
  const isUrl = typeof connection === 'string' && /^(postgres|postgresql|socket):\/\/|^\//.test(connection);
  if (!isUrl && (typeof connection !== 'object' || connection === null)) {
    return check.mistake(
      `${option} must be a URL that begins with postgres://, or a configuration or pool of pg` +
        `${option === 'connection' ? `, or 'embedded'` : ''}${connection === '' ? ': it is empty' : ''}`,
    );
  }
  const mistake = mistakeOf(connection);
  if (mistake !== undefined) check.mistake(`${option} ${mistake}`);
}

function mistakeOf(connection: string | object): string | undefined {
  try {
    connectionKey(connection);
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (path !== undefined) return `names a file that cannot be read: ${path} (${code})`;
    return misread;
  }
  return typeof connection === 'string' && hasCutPassword(connection) ? misread : undefined;
}

const misread = 'cannot be read as a URL: write special characters of the password as %XX';

/** A password with `/`, `?` or `#` ends the host too early: what stands behind it would be shown as a database. */
function hasCutPassword(connection: string): boolean {
  if (!URL.canParse(connection)) return false;
  const { username, pathname, search, hash } = new URL(connection);
  // Values of parameters may have one: `?user=sa@project.iam`.
  const [beforeValues = ''] = search.split('=');
  return username === '' && `${pathname}${beforeValues}${hash}`.includes('@');
}
