import { expect, test } from 'vitest';
import { hasCode, QueueEvents, type TenantDatabaseOptions } from '../../lib/index.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { assembleTenants } from '../../lib/assembly/tenants.js';
import { PostgresTenantDriver } from '../../lib/storage/postgres/tenants/postgres-tenant-driver.js';
import { secret, secretMark } from './kit/tenants.js';

const needed = { connection: 'postgres://localhost/shop', queue: 'orders' } as const;
const password = secret();
const variables = {
  MULTI_DATABASE: 'TRUE',
  MULTI_DATABASE_USER: ' ana ',
  MULTI_DATABASE_PASSWORD: ` ${password} `,
  MULTI_DATABASE_CLIENT_ID: 'erp',
};
const defaults = {
  credentialsUrl: 'https://api.sre.nasajon.com.br/erp/credentials',
  tokenUrl: 'https://auth.nasajon.com.br/auth/realms/master/protocol/openid-connect/token',
};

type Env = Record<string, string>;
type Given = boolean | TenantDatabaseOptions | undefined;

const resolve = (tenantDatabases: Given, env: Env = {}) =>
  resolveOptions({ ...needed, tenantDatabases }, env).tenantDatabases;

const serviceOf = (given: Given, env: Env) => {
  const source = resolve(given, env)?.source;
  return source && 'service' in source ? source.service : undefined;
};

/** What is wrong, one line for each mistake; never with a secret. */
function mistakes(given: unknown, env: Env = {}): readonly string[] {
  try {
    resolve(given as Given, env);
    return [];
  } catch (error) {
    if (!hasCode(error, 'OPTIONS_INVALID')) throw error;
    if (error.message.includes(secretMark)) throw new Error('a secret is shown', { cause: error });
    return error.message.split('\n- ').slice(1);
  }
}

test.each([
  [{}, undefined],
  [{ MULTI_DATABASE: 'FALSE' }, undefined],
  [{ MULTI_DATABASE: '1' }, undefined],
  [{ ...variables, MULTI_DATABASE: '' }, undefined],
  [variables, false],
])('there are none with %j and %j', (env, given) => {
  expect(resolve(given, env as Env)).toBeUndefined();
});

test.each([undefined, true, {}, { service: {} }])('variables and defaults make the service: %j', (given) => {
  for (const on of ['TRUE', 'true', ' True ']) {
    expect(serviceOf(given, { ...variables, MULTI_DATABASE: on })).toEqual({
      user: 'ana',
      password: ` ${password} `,
      clientId: 'erp',
      ...defaults,
      timeoutMs: 10_000,
      ssl: undefined,
    });
  }
});

test('the other settings have defaults', () => {
  expect(resolve({ resolve: () => '' })).toMatchObject({
    maxConnectionsPerTenant: 5,
    maxPools: 50,
    idleMs: 60_000,
    connectTimeoutMs: 5_000,
    resolveTimeoutMs: 20_000,
    waitTimeoutMs: 10_000,
    queryTimeoutMs: 60_000,
    restMs: 15_000,
    dedupTable: 'public.tarefa_done',
  });
});

test('the misspelt variable is read, the corrected one as well, and the misspelt one first', () => {
  const misspelt = { MULTI_DATABASE_API_CREDETIALS_URL: 'https://a.example/' };
  const corrected = { MULTI_DATABASE_API_CREDENTIALS_URL: 'https://b.example/' };
  const urlOf = (env: Env) => serviceOf(true, { ...variables, ...env })?.credentialsUrl;
  expect(urlOf(misspelt)).toBe('https://a.example/');
  expect(urlOf(corrected)).toBe('https://b.example/');
  expect(urlOf({ ...corrected, ...misspelt })).toBe('https://a.example/');
  expect(urlOf({ ...corrected, MULTI_DATABASE_API_CREDETIALS_URL: ' ' })).toBe('https://b.example/');
});

test('explicit options win over variables, field by field, and a resolver over the service', () => {
  const env = { ...variables, OAUTH_TOKEN_URL: 'https://t.example/' };
  const service = { user: 'bob', credentialsUrl: 'https://c.example/', timeoutMs: 5 };
  expect(serviceOf({ service }, env)).toMatchObject({
    ...service,
    clientId: 'erp',
    tokenUrl: 'https://t.example/',
  });
  expect(serviceOf({ service: { ...service, password: 'x', clientId: 'y' } }, {})).toMatchObject(service);
  const own = () => '';
  expect(resolve({ resolve: own }, env)?.source).toEqual({ resolve: own });
});

test('what is missing is named with its option and all its variables', () => {
  expect(mistakes(undefined, { MULTI_DATABASE: 'TRUE' })).toEqual([
    expect.stringMatching(/^tenantDatabases.service.user is missing: .* MULTI_DATABASE_USER$/),
    expect.stringMatching(/^tenantDatabases.service.password is missing: .* MULTI_DATABASE_PASSWORD$/),
    expect.stringMatching(/^tenantDatabases.service.clientId is missing: .* MULTI_DATABASE_CLIENT_ID$/),
  ]);
  expect(mistakes({ service: { credentialsUrl: '' } }, variables)).toEqual([
    expect.stringMatching(
      /credentialsUrl is missing: .* MULTI_DATABASE_API_CREDETIALS_URL \(or MULTI_DATABASE_API_CREDENTIALS_URL\)$/,
    ),
  ]);
  expect(mistakes({})).toEqual([expect.stringMatching(/needs resolve or service, or .*MULTI_DATABASE=TRUE/)]);
});

test.each([secretMark, `ftp://${secretMark}`, `https://ana:${secretMark}@a.example/`])(
  'the URL %s is refused without being shown',
  (url) => {
    const env = { ...variables, MULTI_DATABASE_API_CREDENTIALS_URL: url, OAUTH_TOKEN_URL: url };
    expect(mistakes(true, env)).toEqual([
      expect.stringMatching(
        /^tenantDatabases.service.credentialsUrl \(variable MULTI_DATABASE_API_CREDETIALS_URL \(or MULTI_DATABASE_API_CREDENTIALS_URL\)\) must/,
      ),
      expect.stringMatching(/^tenantDatabases.service.tokenUrl \(variable OAUTH_TOKEN_URL\) must/),
    ]);
  },
);

test.each<readonly [unknown, RegExp]>([
  ['yes', /must be true, false or an object$/],
  [[], /must be true, false or an object/],
  [{ resolve: 'x' }, /tenantDatabases.resolve must be a function/],
  [{ resolve: () => '', service: {} }, /has both resolve and service/],
  [{ service: 'x' }, /tenantDatabases.service must be an object/],
  [
    { service: { User: 'x' } },
    /unknown option 'tenantDatabases.service.User': did you mean 'tenantDatabases.service.user'/,
  ],
  [{ service: { user: 5 } }, /tenantDatabases.service.user must be text/],
  [{ service: { timeoutMs: 0 } }, /tenantDatabases.service.timeoutMs must be a number from 1/],
  [{ maxpools: 5 }, /did you mean 'tenantDatabases.maxPools'/],
  [{ maxPools: 0 }, /tenantDatabases.maxPools must be a whole number from 1/],
  [{ maxConnectionsPerTenant: 1.5 }, /tenantDatabases.maxConnectionsPerTenant must be a whole number/],
  [{ idleMs: -1 }, /tenantDatabases.idleMs must be a number from 1/],
  [{ connectTimeoutMs: '5' }, /tenantDatabases.connectTimeoutMs must be a number/],
  [{ dedupTable: 'a"b' }, /tenantDatabases.dedupTable "a\\"b" may contain only letters/],
])('%j is told', (given, message) => {
  expect(mistakes(given, variables)).toEqual([expect.stringMatching(message)]);
});

test.each([
  ['http://auth.example/token', 1],
  ['http://127.0.0.1:8080/token', 0],
  ['http://localhost/token', 0],
  ['http://[::1]/token', 0],
  ['https://auth.example/token', 0],
])('passwords that travel unencrypted to %s are warned of %i times', (tokenUrl, times) => {
  const events = new QueueEvents();
  const warnings: string[] = [];
  events.on('warning', ({ message }) => warnings.push(message));
  const options = resolve({ service: { tokenUrl } }, variables);
  if (!options) throw new Error('there are no options');
  assembleTenants(options, new PostgresTenantDriver(options, 'orders'), events);
  expect(warnings).toHaveLength(times);
});
