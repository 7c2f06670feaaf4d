import type { ConnectionOptions } from 'mysql2';
import { unavailable } from '../../../tenants/tenant-error.js';
import { mysqlConfig } from '../connections/mysql-config.js';

/**
 * Reads what a resolver or the service has answered, and never shows it. One that names no database is refused: the server
 * would take it, and leave it to each statement which tenant's tables it reads.
 */
export function tenantConfig(connection: unknown, tenant: string): ConnectionOptions {
  const isUrl = typeof connection === 'string' && /^(mysql|mariadb):\/\//.test(connection);
  try {
    if (isUrl || (typeof connection === 'object' && connection !== null)) {
      const read = mysqlConfig(connection);
      if (read.database !== undefined && read.database !== '') return withTls(read);
    }
  } catch {
    // Said below, without what it was.
  }
  throw unavailable(
    `the address given for the database of tenant ${tenant} is neither a URL that begins with mysql:// or ` +
      `mariadb:// and names a database, nor a configuration of mysql2 with a database (in a URL, special characters of a password are ` +
      `written as %XX)`,
  );
}

/** The driver takes options only; and it looks at the name in a certificate only when it is told to. */
function withTls({ ssl, ...others }: ConnectionOptions): ConnectionOptions {
  const given: unknown = ssl;
  if (ssl === undefined || given === false) return others;
  return { ...others, ssl: given === true ? { verifyIdentity: true } : ssl };
}
