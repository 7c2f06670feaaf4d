import type { Environment } from './variables.js';

/** What the environment says of tenants' databases. */
export interface TenantEnvironment {
  /** True when it switches them on. */
  readonly enabled: boolean;
  /** Fields of the service that it gives. */
  readonly service: Readonly<Partial<Record<TenantVariableField, string>>>;
}

/** Fields of the service that a variable may give; all of them are text. */
export type TenantVariableField = 'user' | 'password' | 'clientId' | 'credentialsUrl' | 'tokenUrl';

/** The first name wins. `CREDETIALS` is how nsj-queue-lib spells it. */
const variables: Readonly<Record<TenantVariableField, readonly string[]>> = {
  user: ['MULTI_DATABASE_USER'],
  password: ['MULTI_DATABASE_PASSWORD'],
  clientId: ['MULTI_DATABASE_CLIENT_ID'],
  credentialsUrl: ['MULTI_DATABASE_API_CREDETIALS_URL', 'MULTI_DATABASE_API_CREDENTIALS_URL'],
  tokenUrl: ['OAUTH_TOKEN_URL'],
};

/** For messages: the variables of a field, the second spelling in brackets. */
export function tenantVariables(field: TenantVariableField): string {
  const [first = '', second] = variables[field];
  return second === undefined ? first : `${first} (or ${second})`;
}

/** Reads the variables of nsj-queue-lib's multi-database. */
export function readTenantEnvironment(env: Environment): TenantEnvironment {
  const found = Object.entries(variables).flatMap(([field, names]) => {
    const value = names.map((name) => env[name]).find((text) => text !== undefined && text.trim() !== '');
    // Blanks may belong to a password.
    return value === undefined ? [] : [[field, field === 'password' ? value : value.trim()] as const];
  });
  return {
    enabled: env['MULTI_DATABASE']?.trim().toUpperCase() === 'TRUE',
    service: Object.fromEntries(found),
  };
}
