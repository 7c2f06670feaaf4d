import { createServer } from 'node:https';
import { expect, test } from 'vitest';
import { until } from '../support/waiting.js';
import { createAuthority, selfSigned, type Certified } from './kit/certificates.js';
import { startNameServer } from './kit/name-server.js';
import { createClient, failing, serve, startRawReceiver, startReceiver, toSend } from './kit/receivers.js';

const authority = createAuthority('Trusted');

/** A receiver with TLS, and what it was asked. */
async function startSecure(certified: Certified) {
  const asked: string[] = [];
  const server = createServer(certified, (request, response) => {
    asked.push(`${request.headers.host} ${(request.socket as { servername?: string | false }).servername}`);
    response.end('secure');
  });
  server.on('tlsClientError', () => undefined);
  return { ...(await serve(server)), asked };
}

/** A client that trusts the authority, and knows every name as 127.0.0.1. */
async function createSecureClient(ca: readonly string[] | undefined = [authority.ca]) {
  const names = await startNameServer((_name, type) => (type === 'A' ? { v4: ['127.0.0.1'] } : {}));
  return createClient({ dnsServers: [names.address], ca, timeoutMs: 5_000 });
}

test('a certificate of a trusted authority, for a name and for an address', async () => {
  const receiver = await startSecure(authority.issue(['hooks.test', '127.0.0.1']));
  const client = await createSecureClient();
  for (const host of ['hooks.test', 'HOOKS.test.', '127.0.0.1']) {
    expect(await client.send(toSend(`https://${host}:${receiver.port}/`))).toMatchObject({
      ok: true,
      snippet: 'secure',
    });
  }
  expect(receiver.asked.map((one) => one.split(' ')[1])).toEqual(['hooks.test', 'hooks.test', 'false']);
  // Kept open like others.
  await client.send(toSend(`https://hooks.test:${receiver.port}/`));
  expect(receiver.sockets).toHaveLength(3);
  await client.close();
  await until(() => Promise.resolve(receiver.sockets.every(({ destroyed }) => destroyed)), 'all are closed');
});

test.each([
  [
    'for another name',
    authority.issue(['other.test']),
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'is for another name',
  ],
  ['that expired', authority.issue(['hooks.test'], { expired: true }), 'CERT_HAS_EXPIRED', 'has expired'],
  ['signed by itself', selfSigned(['hooks.test']), 'DEPTH_ZERO_SELF_SIGNED_CERT', 'is self-signed'],
  [
    'of an unknown authority',
    createAuthority('Unknown').issue(['hooks.test']),
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'an unknown authority',
  ],
])('a certificate %s is refused before anything is sent', async (_what, certified, systemCode, reason) => {
  const receiver = await startSecure(certified);
  const failure = await failing(await createSecureClient(), `https://hooks.test:${receiver.port}/`);
  expect(failure).toMatchObject({
    kind: 'tls',
    systemCode,
    host: 'hooks.test',
    message: expect.stringContaining(reason),
  });
  expect(receiver.asked).toEqual([]);
  await until(() => Promise.resolve(receiver.sockets[0]?.destroyed), 'the connection is closed');
});

test('an own authority is trusted only when it is given, whatever the environment says', async () => {
  const receiver = await startSecure(authority.issue(['hooks.test']));
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  try {
    const names = await startNameServer((_name, type) => (type === 'A' ? { v4: ['127.0.0.1'] } : {}));
    const client = createClient({ dnsServers: [names.address] });
    expect((await failing(client, `https://hooks.test:${receiver.port}/`)).kind).toBe('tls');
  } finally {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
  }
  expect(receiver.asked).toEqual([]);
});

test('plain HTTP on a TLS port, and TLS on a plain one', async () => {
  const secure = await startSecure(authority.issue(['127.0.0.1']));
  const plain = await startReceiver();
  const client = await createSecureClient();
  expect(['reset', 'protocol']).toContain((await failing(client, `http://127.0.0.1:${secure.port}/`)).kind);
  expect(await failing(client, `https://127.0.0.1:${plain.port}/`)).toMatchObject({
    kind: 'tls',
    message: expect.stringContaining('does not speak TLS on this port'),
  });
  expect(plain.requests).toHaveLength(0);
});

test('a greeting that is not answered ends at the deadline, and one that is cut at once', async () => {
  const silent = await startRawReceiver((socket) => socket.resume());
  const client = createClient({ timeoutMs: 300 });
  expect(await failing(client, `https://127.0.0.1:${silent.port}/`)).toMatchObject({
    kind: 'timeout',
    message: '127.0.0.1 did not respond within 300 ms: TLS was still being negotiated',
  });
  await until(() => Promise.resolve(silent.sockets[0]?.destroyed), 'the connection is closed');
  const cutting = await startRawReceiver((socket) => socket.once('data', () => socket.resetAndDestroy()));
  expect((await failing(createClient(), `https://127.0.0.1:${cutting.port}/`)).kind).toBe('tls');
});
