import type { QueueEvents } from '../events.js';
import { CredentialsService } from '../tenants/credentials-service.js';
import { DatabasePool } from '../tenants/database-pool.js';
import { TenantDatabases } from '../tenants/tenant-databases.js';
import type { ResolvedTenantOptions, TenantResolver } from '../options/tenant-options.js';
import type { TenantDriver } from '../tenants/tenant-driver.js';
import { TenantPools } from '../tenants/tenant-pools.js';

/** Puts the databases of tenants together. Nothing is asked or opened until a handler wants one. */
export function assembleTenants(
  options: ResolvedTenantOptions,
  driver: TenantDriver,
  events: QueueEvents,
): TenantDatabases {
  const resolve = resolverOf(options);
  warnOfPlainText(options, events);
  return new TenantDatabases(
    new TenantPools(options, (tenant) => new DatabasePool(tenant, options, resolve, driver, events)),
  );
}

function resolverOf({ source, restMs }: ResolvedTenantOptions): TenantResolver {
  if ('resolve' in source) return source.resolve;
  const service = new CredentialsService(source.service, restMs);
  return (tenant) => service.resolve(tenant);
}

/** Passwords travel to both services, or back from them. */
function warnOfPlainText({ source }: ResolvedTenantOptions, events: QueueEvents): void {
  if ('resolve' in source) return;
  const { tokenUrl, credentialsUrl } = source.service;
  for (const url of [tokenUrl, credentialsUrl].map((text) => new URL(text))) {
    if (url.protocol === 'https:' || isLoopback(url.hostname)) continue;
    events.emit('warning', {
      message: `passwords of tenants' databases travel unencrypted to or from ${url.origin}: use https`,
    });
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host.startsWith('127.');
}
