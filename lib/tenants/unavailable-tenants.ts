import { TarefaError } from '../errors.js';
import { TenantDatabases } from './tenant-databases.js';

/** Stands where no databases of tenants are configured: it may be injected anywhere, and each use of it says so. */
export function unavailableTenants(): TenantDatabases {
  return new TenantDatabases(
    () =>
      new TarefaError(
        'OPTIONS_INVALID',
        'tenant databases are not configured: set tenantDatabases in the options of QueueModule, or MULTI_DATABASE=TRUE',
      ),
  );
}
