import type { ResolvedTenantOptions } from '../../../options/tenant-options.js';
import type { TenantConnections, TenantDriver } from '../../../tenants/tenant-driver.js';
import type { Mysql2 } from '../connections/mysql-package.js';
import { doneStatements, type DoneStatements } from './done-table.js';
import { isRefusedLogin } from './login-error.js';
import { MysqlTenantConnections, type ConnectionLimits } from './mysql-tenant-connections.js';
import { tenantConfig } from './tenant-config.js';

/** {@link TenantDriver} of MySQL and MariaDB. */
export class MysqlTenantDriver implements TenantDriver {
  readonly #mysql: Mysql2;
  readonly #options: ConnectionLimits;
  readonly #statements: DoneStatements;

  constructor(mysql: Mysql2, options: ConnectionLimits & Pick<ResolvedTenantOptions, 'dedupTable'>) {
    this.#mysql = mysql;
    this.#options = options;
    this.#statements = doneStatements(options.dedupTable);
  }

  open(connection: unknown, tenant: string): TenantConnections {
    return new MysqlTenantConnections(
      tenant,
      this.#mysql,
      tenantConfig(connection, tenant),
      this.#options,
      this.#statements,
    );
  }

  isRefusedLogin(error: unknown): boolean {
    return isRefusedLogin(error);
  }

  isLate(error: unknown): boolean {
    return (error as { readonly code?: unknown } | null | undefined)?.code === 'ETIMEDOUT';
  }
}
