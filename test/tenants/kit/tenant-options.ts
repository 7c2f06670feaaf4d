import type { ResolvedTenantOptions } from '../../../lib/options/tenant-options.js';

/** Options of pools that are put together without a queue. */
export function tenantOptions(options: Partial<ResolvedTenantOptions> = {}): ResolvedTenantOptions {
  return {
    source: { resolve: () => '' },
    maxConnectionsPerTenant: 5,
    maxPools: 50,
    idleMs: 60_000,
    connectTimeoutMs: 5_000,
    resolveTimeoutMs: 5_000,
    waitTimeoutMs: 5_000,
    queryTimeoutMs: 0,
    restMs: 60_000,
    dedupTable: 'public.tarefa_done',
    ...options,
  };
}
