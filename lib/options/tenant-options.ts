import type { ConnectionOptions } from 'node:tls';
import type { OptionCheck } from './option-check.js';
import type { Environment } from './variables.js';
import type { MysqlConnection } from './mysql-connection.js';
import type { PostgresConnection } from './postgres-connection.js';
import { tableNameProblem } from '../values/table-name.js';
import { readTenantEnvironment, tenantVariables, type TenantVariableField } from './tenant-environment.js';

/**
 * Tells where a tenant's database is. It is asked once per tenant, and again when its credentials are refused. What
 * it throws fails the attempt; an `UnrecoverableError` fails the task for good.
 */
export type TenantResolver = (
  tenant: string,
  options: { readonly signal: AbortSignal },
) => PostgresConnection | MysqlConnection | Promise<PostgresConnection | MysqlConnection>;

/** Where the databases of tenants are, and how many connections they may have. */
export interface TenantDatabaseOptions {
  /** Tells where a tenant's database is: a URL or a configuration of `pg` or `mysql2`, whichever opens the queue's own. Default: `service` does. */
  readonly resolve?: TenantResolver | undefined;
  /** A service that knows the credentials: see {@link TenantServiceOptions}. Default: with `MULTI_DATABASE=TRUE` its variables. */
  readonly service?: TenantServiceOptions | undefined;
  /** Connections to one tenant's database from this process. Default 5. */
  readonly maxConnectionsPerTenant?: number | undefined;
  /** Tenants with connections at once; the one unused for longest makes room. Default 50. */
  readonly maxPools?: number | undefined;
  /** Ms after which unused connections, and what is known of their tenant, are given up. Default 60000. */
  readonly idleMs?: number | undefined;
  /** Ms for opening a connection. Default 5000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Ms for finding out where a tenant's database is, however many requests that takes. Default 20000. */
  readonly resolveTimeoutMs?: number | undefined;
  /** Ms that a handler may wait while all connections of its tenant, or all pools, are in use. Default 10000. */
  readonly waitTimeoutMs?: number | undefined;
  /** Ms for the answer to one statement there; 0: no limit. Default 60000. */
  readonly queryTimeoutMs?: number | undefined;
  /**
   * Ms that a tenant is left alone when its database answered too late or its credentials were refused: its tasks fail
   * at once. Default 15000.
   */
  readonly restMs?: number | undefined;
  /** Table of `once()` in tenants' databases, with its schema. Default `public.tarefa_done`; in MySQL and MariaDB `tarefa_done`. */
  readonly dedupTable?: string | undefined;
}

/** An OAuth token service, and a service that answers a tenant's credentials to holders of a token. */
export interface TenantServiceOptions {
  /** User name of the password grant. Variable `MULTI_DATABASE_USER`. */
  readonly user?: string | undefined;
  /** Password of the password grant. Variable `MULTI_DATABASE_PASSWORD`. */
  readonly password?: string | undefined;
  /** Client id of the password grant. Variable `MULTI_DATABASE_CLIENT_ID`. */
  readonly clientId?: string | undefined;
  /** Gets `{ tenant }` by POST. Variable `MULTI_DATABASE_API_CREDETIALS_URL`. Default `https://api.sre.nasajon.com.br/erp/credentials`. */
  readonly credentialsUrl?: string | undefined;
  /** Where tokens come from. Variable `OAUTH_TOKEN_URL`. Default `https://auth.nasajon.com.br/auth/realms/master/protocol/openid-connect/token`. */
  readonly tokenUrl?: string | undefined;
  /** Ms for each request. Default 10000. */
  readonly timeoutMs?: number | undefined;
  /** TLS to the databases: true, or options as the driver of the queue takes them. Default: without. */
  readonly ssl?: boolean | ConnectionOptions | undefined;
}

/** The service's options, checked and complete. */
export interface ResolvedTenantService {
  readonly user: string;
  readonly password: string;
  readonly clientId: string;
  readonly credentialsUrl: string;
  readonly tokenUrl: string;
  readonly timeoutMs: number;
  readonly ssl: boolean | ConnectionOptions | undefined;
}

/** All of it, checked and complete. */
export interface ResolvedTenantOptions {
  /** The user's resolver, or the service. */
  readonly source: { readonly resolve: TenantResolver } | { readonly service: ResolvedTenantService };
  readonly maxConnectionsPerTenant: number;
  readonly maxPools: number;
  readonly idleMs: number;
  readonly connectTimeoutMs: number;
  readonly resolveTimeoutMs: number;
  readonly waitTimeoutMs: number;
  readonly queryTimeoutMs: number;
  readonly restMs: number;
  readonly dedupTable: string;
}

const known: Readonly<Record<keyof TenantDatabaseOptions, true>> = {
  resolve: true,
  service: true,
  maxConnectionsPerTenant: true,
  maxPools: true,
  idleMs: true,
  connectTimeoutMs: true,
  resolveTimeoutMs: true,
  waitTimeoutMs: true,
  queryTimeoutMs: true,
  restMs: true,
  dedupTable: true,
};

const knownOfService: Readonly<Record<keyof TenantServiceOptions, true>> = {
  user: true,
  password: true,
  clientId: true,
  credentialsUrl: true,
  tokenUrl: true,
  timeoutMs: true,
  ssl: true,
};

const defaultUrls = {
  credentialsUrl: 'https://api.sre.nasajon.com.br/erp/credentials',
  tokenUrl: 'https://auth.nasajon.com.br/auth/realms/master/protocol/openid-connect/token',
} as const;

/** Where a table of one's own is made unless the option says otherwise. */
export const defaultDedupTable = 'public.tarefa_done';

const longestMs = 86_400_000;

/** Checks the option `tenantDatabases` and its variables; undefined where tenants have no databases. */
export function resolveTenantDatabases(
  given: boolean | TenantDatabaseOptions | undefined,
  env: Environment,
  check: OptionCheck,
): ResolvedTenantOptions | undefined {
  if (given === false) return undefined;
  if (given === undefined && !readTenantEnvironment(env).enabled) return undefined;
  if (given !== undefined && given !== true && !isPlainObject(given)) {
    check.mistake('tenantDatabases must be true, false or an object');
    return undefined;
  }
  const options: TenantDatabaseOptions = given === undefined || given === true ? {} : withoutUnset(given);
  check.known(Object.keys(options), Object.keys(known), 'tenantDatabases.');
  const ms = (name: keyof TenantDatabaseOptions, fallback: number, least: number): number =>
    check.number(`tenantDatabases.${name}`, (options[name] ?? fallback) as number, least, longestMs);
  const { maxConnectionsPerTenant = 5, maxPools = 50, dedupTable = defaultDedupTable } = options;
  check.name('tenantDatabases.dedupTable', dedupTable, tableNameProblem);
  return Object.freeze({
    source: resolveSource(options, given === true, env, check),
    maxConnectionsPerTenant: check.whole(
      'tenantDatabases.maxConnectionsPerTenant',
      maxConnectionsPerTenant,
      1,
      1_000,
    ),
    maxPools: check.whole('tenantDatabases.maxPools', maxPools, 1, 10_000),
    idleMs: ms('idleMs', 60_000, 1),
    connectTimeoutMs: ms('connectTimeoutMs', 5_000, 1),
    resolveTimeoutMs: ms('resolveTimeoutMs', 20_000, 1),
    waitTimeoutMs: ms('waitTimeoutMs', 10_000, 1),
    queryTimeoutMs: ms('queryTimeoutMs', 60_000, 0),
    restMs: ms('restMs', 15_000, 0),
    dedupTable,
  });
}

function resolveSource(
  { resolve, service }: TenantDatabaseOptions,
  isOn: boolean,
  env: Environment,
  check: OptionCheck,
): ResolvedTenantOptions['source'] {
  if (resolve !== undefined) {
    if (typeof resolve !== 'function') check.mistake('tenantDatabases.resolve must be a function');
    if (service !== undefined)
      check.mistake('tenantDatabases has both resolve and service: give one of them');
    return { resolve };
  }
  if (service === undefined && !isOn && !readTenantEnvironment(env).enabled) {
    check.mistake(
      'tenantDatabases needs resolve or service, or the variable MULTI_DATABASE=TRUE with those of the service',
    );
    return { resolve: () => '' };
  }
  return { service: resolveService(service, env, check) };
}

/** Never shows a value: any of them may have been taken for another. */
function resolveService(
  given: TenantServiceOptions = {},
  env: Environment,
  check: OptionCheck,
): ResolvedTenantService {
  const explicit = isPlainObject(given) ? withoutUnset(given) : {};
  if (!isPlainObject(given)) check.mistake('tenantDatabases.service must be an object');
  check.known(Object.keys(explicit), Object.keys(knownOfService), 'tenantDatabases.service.');
  const options = { ...defaultUrls, ...readTenantEnvironment(env).service, ...explicit };
  const text = (field: TenantVariableField): string => {
    const value: unknown = options[field];
    const option = `tenantDatabases.service.${field}`;
    if (typeof value === 'string' && value !== '') return value;
    if (value === undefined || value === '') check.missing(option, [tenantVariables(field)]);
    else check.mistake(`${option} must be text`);
    return '';
  };
  const url = (field: 'credentialsUrl' | 'tokenUrl'): string => {
    const value = text(field);
    const problem = value === '' ? undefined : urlProblem(value);
    if (problem === undefined) return value;
    check.mistake(`tenantDatabases.service.${field} (variable ${tenantVariables(field)}) ${problem}`);
    return defaultUrls[field];
  };
  return Object.freeze({
    user: text('user'),
    password: text('password'),
    clientId: text('clientId'),
    credentialsUrl: url('credentialsUrl'),
    tokenUrl: url('tokenUrl'),
    timeoutMs: check.number('tenantDatabases.service.timeoutMs', options.timeoutMs ?? 10_000, 1, longestMs),
    ssl: options.ssl,
  });
}

function urlProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol)) return 'must be a URL that begins with https://';
  if (url.username !== '' || url.password !== '') return 'must not contain a user or password';
  return undefined;
}

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What is undefined or, where types are not checked, null was not given. */
function withoutUnset<T extends object>(given: T): T {
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== null),
  ) as T;
}
