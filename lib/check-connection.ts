import type { OptionCheck } from './option-check.js';
import { connectionKey } from './storage/postgres/connection-config.js';

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
  if (isMisread(connection)) {
    check.mistake(`${option} cannot be read as a URL: write special characters of the password as %XX`);
  }
}

/** A password with `/`, `?` or `#` ends the host too early: what stands behind it would be shown as a database. */
function isMisread(connection: string | object): boolean {
  try {
    connectionKey(connection);
    if (typeof connection !== 'string' || !URL.canParse(connection)) return false;
    const { username, pathname, search, hash } = new URL(connection);
    return username === '' && `${pathname}${search}${hash}`.includes('@');
  } catch {
    return true;
  }
}
