import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { CredentialsService } from '../../lib/tenants/credentials-service.js';
import { serve } from '../webhooks/kit/receivers.js';
import { startStandIn, tokenAnswer, type Answer, type StandIn } from './kit/stand-in.js';
import { secretMark } from './kit/tenants.js';

const config = { host: 'db.example', port: 5_432, database: 'shop', user: 'ana', password: secretMark };
const good: Answer = {
  json: { hostname: 'db.example', port: 5_432, db_name: 'shop', user: 'ana', password: secretMark },
};

async function start(timeoutMs = 5_000): Promise<{ service: CredentialsService; standIn: StandIn }> {
  const standIn = await startStandIn();
  standIn.onAsk = () => good;
  const service = new CredentialsService({ ...standIn.service, timeoutMs, ssl: undefined }, 0);
  return { service, standIn };
}

/** The error, of which nothing secret may be seen, however it is looked at. */
async function failure(asking: Promise<unknown>): Promise<Error> {
  const error: unknown = await asking.then(
    () => new Error('it was answered'),
    (reason: unknown) => reason,
  );
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(secretMark);
  return error as Error;
}

test('a tenant is asked for by its number, exactly, and the answer is a configuration', async () => {
  const { service, standIn } = await start();
  for (const tenant of ['7', '-7', '9007199254740993', '0', '007', 'x"y']) {
    expect(await service.resolve(tenant)).toEqual(config);
  }
  expect(standIn.asked.map(({ body }) => body)).toEqual([
    '{"tenant":7}',
    '{"tenant":-7}',
    '{"tenant":9007199254740993}',
    '{"tenant":0}',
    '{"tenant":"007"}',
    '{"tenant":"x\\"y"}',
  ]);
  expect(standIn.asked[0]?.bearer).toMatch(/^Bearer \S+$/);
});

test('a port may be text, and TLS comes from the options', async () => {
  const { standIn } = await start();
  standIn.onAsk = () => ({
    json: { hostname: 'h', port: '6543', db_name: 'd', user: 'u', password: '' },
  });
  const service = new CredentialsService({ ...standIn.service, timeoutMs: 5_000, ssl: true }, 0);
  expect(await service.resolve('1')).toEqual({
    host: 'h',
    port: 6_543,
    database: 'd',
    user: 'u',
    password: '',
    ssl: true,
  });
});

test('after a 401 the token is renewed once, and the question asked again', async () => {
  const { service, standIn } = await start();
  let withdrawn = '';
  standIn.onAsk = (_, bearer = '') => {
    withdrawn ||= bearer;
    return bearer === withdrawn ? { status: 401 } : good;
  };
  expect(await service.resolve('1')).toEqual(config);
  expect(standIn.grants.map((form) => form['grant_type'])).toEqual(['password', 'refresh_token']);
  standIn.onAsk = () => ({ status: 401 });
  expect((await failure(service.resolve('1'))).message).toMatch(
    /credentials service .* answered 401 for tenant 1$/,
  );
  expect(standIn.grants).toHaveLength(3);
  expect(standIn.asked).toHaveLength(4);
});

test.each<readonly [string, Answer, RegExp]>([
  ['500', { status: 500, text: secretMark }, /answered 500/],
  ['404', { status: 404, text: secretMark }, /answered 404/],
  ['no JSON', { text: `{"password":"${secretMark}"` }, /did not answer with JSON$/],
  ['nothing', { text: '' }, /did not answer with JSON/],
  ['a list', { json: [secretMark] }, /JSON that is not an object/],
  ['null', { text: 'null' }, /JSON that is not an object/],
  [
    'too much',
    { text: JSON.stringify({ x: secretMark.repeat(20_000) }) },
    /answered with more than 65536 bytes/,
  ],
  [
    'a redirect',
    (response) => response.writeHead(307, { location: `http://127.0.0.1:1/${secretMark}` }).end(),
    /answered 307: redirects are not followed/,
  ],
  [
    'no end',
    (response) => {
      const drip = setInterval(() => response.write(' '), 10);
      response.on('close', () => clearInterval(drip));
    },
    /did not answer within 400 ms/,
  ],
  ['silence', () => undefined, /did not answer within 400 ms/],
  ['a cut', (response) => response.destroy(), /is unreachable: (UND_ERR_SOCKET|ECONNRESET)/],
])('%s from either service is told without what was sent and answered', async (_, answer, message) => {
  const { service, standIn } = await start(400);
  standIn.onAsk = () => answer;
  const { pathname, origin } = new URL(standIn.service.credentialsUrl);
  const asking = await failure(service.resolve('1'));
  expect(asking.message).toMatch(message);
  expect(asking).toMatchObject({ code: 'TENANT_UNAVAILABLE' });
  expect(asking.cause).toBeUndefined();
  expect(asking.message).toContain(`the credentials service (${origin}${pathname})`);

  const other = await start(400);
  other.standIn.onGrant = () => answer;
  const granting = await failure(other.service.resolve('1'));
  expect(granting.message).toMatch(message);
  expect(granting.message).toContain('the token service (http://127.0.0.1');
  expect(other.standIn.asked).toEqual([]);
});

test.each([
  ['hostname', { hostname: undefined }],
  ['hostname', { hostname: '' }],
  ['port', { port: 0 }],
  ['port', { port: 'x' }],
  ['port', { port: undefined }],
  ['db_name', { db_name: 5 }],
  ['user', { user: null }],
  ['password', { password: undefined }],
])('credentials without a usable %s are told by their field', async (field, wrong) => {
  const { service, standIn } = await start();
  standIn.onAsk = () => ({ json: { ...(good as { json: object }).json, ...wrong } });
  const { message } = await failure(service.resolve('1'));
  expect(message).toMatch(new RegExp(`credentials service .* without a usable ${field}$`));
});

test('a server that speaks no HTTP, or is not there, is told without what it said', async () => {
  const { standIn } = await start();
  const raw = await serve(createServer((socket) => socket.end(`${secretMark}\r\n\r\n`)));
  const ask = (tokenUrl: string): Promise<Error> =>
    failure(
      new CredentialsService({ ...standIn.service, tokenUrl, timeoutMs: 5_000, ssl: undefined }, 0).resolve(
        '1',
      ),
    );
  expect((await ask(raw.url)).message).toMatch(/is unreachable: HPE_/);
  expect((await ask('http://127.0.0.1:1/token')).message).toMatch(/is unreachable: /);
  expect((await ask(`${raw.url}?key=${secretMark}`)).message).toContain(`(${raw.url})`);
});

test('tokens of before are good for later tenants', async () => {
  const { service, standIn } = await start();
  standIn.onGrant = () => tokenAnswer({ expires_in: 300 });
  await Promise.all(['1', '2', '3'].map((tenant) => service.resolve(tenant)));
  await service.resolve('4');
  expect(standIn.grants).toHaveLength(1);
  expect(standIn.asked).toHaveLength(4);
});
