import { inspect } from 'node:util';
import { afterEach, expect, test, vi } from 'vitest';
import { hasCode } from '../../lib/errors.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { LogLines } from '../support/log-lines.js';
import { startApp } from '../support/queue-app.js';

const secret = 's3cr3t';
const connection = {
  DB_HOST: '127.0.0.1',
  DB_PORT: '1',
  DB_BASE: 'shop',
  DB_USER: 'ana',
  DB_PASS: 'pass',
} as const;

afterEach(() => void vi.unstubAllEnvs());

/** What a mistaken environment is answered, with everything that hangs on the error. */
function said(env: Readonly<Record<string, string>>): string {
  try {
    resolveOptions({ queue: 'orders' }, env);
  } catch (error) {
    if (!hasCode(error, 'OPTIONS_INVALID')) throw error;
    return inspect(error, { depth: 10, showHidden: true });
  }
  return 'nothing is wrong';
}

test.each<readonly [what: string, env: Readonly<Record<string, string>>, named: readonly string[]]>([
  ['a password without the rest', { DB_PASS: secret }, ['DB_HOST (or DATABASE_HOST)']],
  ['the second name of it', { DATABASE_PASS: secret }, ['DB_USER (or DATABASE_USER)']],
  [
    'a password beside a port that is none',
    { ...connection, DB_PASS: secret, DB_PORT: 'x' },
    ['DB_PORT (or DATABASE_PORT) must be a port, not "x"'],
  ],
  [
    'a URL as a host',
    { ...connection, DB_HOST: `postgres://ana:${secret}@db/shop` },
    ['DB_HOST (or DATABASE_HOST) must be a host name or address, not a URL'],
  ],
  [
    'credentials before a host, under its second name',
    { ...connection, DB_HOST: '', DATABASE_HOST: `ana:${secret}@db` },
    ['DB_HOST (or DATABASE_HOST)'],
  ],
  ['Loki without a scheme', { ...connection, GRAFANA_URL: `ana:${secret}@loki/push` }, ['GRAFANA_URL']],
  ['Loki by another scheme', { ...connection, GRAFANA_URL: `ftp://ana:${secret}@loki` }, ['GRAFANA_URL']],
  [
    'Loki with a broken password',
    { ...connection, GRAFANA_URL: `http://a:${secret}%z@loki` },
    ['GRAFANA_URL'],
  ],
])('%s: the variable is named, its value is not shown', (_, env, named) => {
  const text = said(env);
  for (const name of named) expect(text).toContain(name);
  expect(text).not.toContain(secret);
});

test.each([
  'MULTI_DATABASE_USER',
  'MULTI_DATABASE_PASSWORD',
  'MULTI_DATABASE_CLIENT_ID',
  'MULTI_DATABASE_API_CREDETIALS_URL',
  'OAUTH_TOKEN_URL',
])('%s is never shown, whatever stands in it', (name) => {
  for (const value of [
    secret,
    ` ${secret} `,
    `ana:${secret}@h`,
    `ftp://ana:${secret}@h`,
    `http://ana:${secret}%z@h`,
  ]) {
    expect(said({ ...connection, MULTI_DATABASE: 'TRUE', [name]: value })).not.toContain(secret);
  }
});

test('a start that fails shows no password, neither in its error nor in the log', async () => {
  for (const [name, value] of Object.entries({ ...connection, DB_PASS: secret })) vi.stubEnv(name, value);
  const logger = new LogLines();
  const failed = startApp({ url: '' }, { connection: undefined, connectRetryMs: 0, logger }).catch(
    (error: unknown) => error,
  );
  const text = inspect(await failed, { depth: 10, showHidden: true });
  expect(text).toContain('ECONNREFUSED');
  expect(`${text} ${logger.of().join(' ')}`).not.toContain(secret);
});
