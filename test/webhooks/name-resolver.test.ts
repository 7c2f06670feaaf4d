import { pbkdf2 } from 'node:crypto';
import { readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { HostsFile } from '../../lib/webhooks/hosts-file.js';
import { NameResolver } from '../../lib/webhooks/name-resolver.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { until } from '../support/waiting.js';
import { startNameServer, type AnswerName } from './kit/name-server.js';
import { createClient, failing, failureOf, startReceiver, toSend } from './kit/receivers.js';

/** A resolver that asks a name server of the test. */
async function resolverFor(answer: AnswerName) {
  const server = await startNameServer(answer);
  const resolver = new NameResolver({ dnsServers: [server.address], hostsFile: '/nonexistent' });
  const controller = new AbortController();
  return { server, resolve: (name: string) => resolver.resolve(name, controller.signal), controller };
}

test('all addresses of both kinds are found, also through an alias', async () => {
  const { resolve } = await resolverFor((name) =>
    name === 'a.example'
      ? { v4: ['1.1.1.1', '1.0.0.1'], v6: ['2606:4700::1111'], alias: 'b.example' }
      : undefined,
  );
  expect(await resolve('a.example')).toEqual(['1.1.1.1', '2606:4700::1111', '1.0.0.1']);
});

test('one kind of address is enough', async () => {
  const { resolve } = await resolverFor((_name, type) => (type === 'A' ? {} : { v6: ['2606:4700::1111'] }));
  expect(await resolve('a.example')).toEqual(['2606:4700::1111']);
});

test('a name without addresses and one that does not exist are told', async () => {
  const { resolve } = await resolverFor((name) => (name === 'empty.example' ? {} : undefined));
  for (const name of ['empty.example', 'none.example']) {
    expect(await failureOf(resolve(name))).toMatchObject({
      kind: 'dns',
      host: name,
      message: `the address of ${name} could not be resolved: it has none`,
    });
  }
  expect((await failureOf(resolve(`${'x'.repeat(64)}.example`))).kind).toBe('dns');
});

test('localhost is never asked for', async () => {
  const { resolve, server } = await resolverFor(() => ({ v4: ['8.8.8.8'] }));
  expect(await resolve('localhost')).toEqual(['127.0.0.1', '::1']);
  expect(await resolve('shop.localhost')).toEqual(['127.0.0.1', '::1']);
  expect(server.asked).toEqual([]);
});

test('the hosts file comes first, and is read again when it changed', async () => {
  const path = join(await makeTemporaryFolder(), 'hosts');
  await writeFile(
    path,
    '# comment\n10.0.0.1 One.internal alias # two.internal\r\n::1 one.internal\nnonsense two\n',
  );
  const hosts = new HostsFile(path);
  expect(await hosts.find('one.internal')).toEqual(['10.0.0.1', '::1']);
  expect(await hosts.find('alias')).toEqual(['10.0.0.1']);
  expect(await hosts.find('two.internal')).toEqual([]);
  await writeFile(path, '10.0.0.2 one.internal\n');
  await utimes(path, new Date(), new Date(Date.now() + 5_000));
  await until(async () => (await hosts.find('one.internal'))[0] === '10.0.0.2', 'the change is seen');
  expect(await new HostsFile('/nonexistent').find('one.internal')).toEqual([]);
});

test('name servers that are not addresses are refused at once', () => {
  for (const server of ['dns.example', 'localhost', '']) {
    expect(() => new NameResolver({ dnsServers: [server] })).toThrow(
      expect.objectContaining({ code: 'OPTIONS_INVALID' }),
    );
  }
});

test('giving up ends a question that nobody answers', async () => {
  const { resolve, controller, server } = await resolverFor(() => 'silence');
  const resolving = resolve('slow.example');
  await until(() => Promise.resolve(server.asked.length > 0), 'the question is asked');
  controller.abort(new Error('given up'));
  await expect(resolving).rejects.toThrow('given up');
  // Unanswered, it would be asked again and again for six seconds.
  expect(server.asked).toEqual([...new Set(server.asked)]);
});

test('name servers that do not answer stop nothing else in the process', async () => {
  const server = await startNameServer(() => 'silence');
  const client = createClient({ dnsServers: [server.address] });
  // More than the threads that Node has for files, hashes and its own name lookups.
  const names = Array.from({ length: 32 }, (_, index) => `https://slow-${index}.example/`);
  let ended = 0;
  const sending = names.map((url) => failureOf(client.send(toSend(url))).finally(() => (ended += 1)));
  await until(() => Promise.resolve(server.asked.length >= 32), 'the names are asked for');
  await Promise.all([
    readFile(import.meta.filename),
    ...Array.from({ length: 8 }, () => promisify(pbkdf2)('a', 'b', 1_000, 32, 'sha256')),
  ]);
  expect(ended).toBe(0);
  await client.close();
  expect((await Promise.all(sending)).map(({ kind }) => kind)).toEqual(names.map(() => 'aborted'));
});

test('the deadline holds while the name is looked up', async () => {
  const server = await startNameServer(() => 'silence');
  const client = createClient({ dnsServers: [server.address], timeoutMs: 200 });
  expect(await failing(client, 'https://slow.example/')).toMatchObject({
    kind: 'timeout',
    host: 'slow.example',
    message: 'slow.example did not respond within 200 ms: its address was still being looked up',
  });
});

test('a name with one private address among public ones is refused, and nothing is dialled', async () => {
  const receiver = await startReceiver();
  const records: Readonly<Record<string, { v4?: string[]; v6?: string[]; alias?: string }>> = {
    'private.example': { v4: ['127.0.0.1'] },
    'mixed.example': { v4: ['127.0.0.1', '93.184.216.34'] },
    'mixed6.example': { v4: ['93.184.216.34'], v6: ['::1'] },
    'mapped.example': { v6: ['::ffff:7f00:1'] },
    'alias.example': { alias: 'internal.example', v4: ['169.254.169.254'] },
  };
  const server = await startNameServer((name) => records[name]);
  const client = createClient({ allowedAddresses: [], dnsServers: [server.address] });
  for (const host of Object.keys(records)) {
    const failure = await failing(client, `http://${host}:${receiver.port}/`);
    expect(failure).toMatchObject({ kind: 'refused-address', host });
    expect(failure.address).toBeDefined();
    expect(failure.message).toMatch(new RegExp(`^${host} resolves to a `));
    expect(failure.message).not.toContain(failure.address);
  }
  expect(receiver.sockets).toHaveLength(0);
});

test('a name that changes its answer is dialled where it was checked, never where it leads later', async () => {
  const receiver = await startReceiver();
  // Allowed at first, and then the address of everything on this computer.
  let address = '127.0.0.2';
  const server = await startNameServer(() => {
    const answer = { v4: [address] };
    address = '127.0.0.1';
    return answer;
  });
  const client = createClient({ allowedAddresses: ['127.0.0.2'], dnsServers: [server.address] });
  // Each asks once, for both kinds; the receiver listens on 127.0.0.1 only.
  const first = await failing(client, `http://flip.example:${receiver.port}/`);
  expect(first).toMatchObject({ kind: 'connect', systemCode: 'ECONNREFUSED' });
  const second = await failing(client, `http://flip.example:${receiver.port}/`);
  expect(second.kind).toBe('refused-address');
  expect(server.asked).toHaveLength(4);
  expect(receiver.sockets).toHaveLength(0);
});

test('an allowed name may lead to private addresses, and its server is told the name', async () => {
  const receiver = await startReceiver();
  const server = await startNameServer((_name, type) => (type === 'A' ? { v4: ['127.0.0.1'] } : {}));
  const client = createClient({ allowedAddresses: ['receiver.internal'], dnsServers: [server.address] });
  const answer = await client.send(toSend(`http://Receiver.internal.:${receiver.port}/`));
  expect(answer.ok).toBe(true);
  expect(receiver.requests[0]?.headers.host).toBe(`receiver.internal.:${receiver.port}`);
  expect((await failing(client, `http://other.internal:${receiver.port}/`)).kind).toBe('refused-address');
});

test('an address that does not answer is followed by the next one', async () => {
  const receiver = await startReceiver();
  const server = await startNameServer((_name, type) =>
    type === 'A' ? { v4: ['127.0.0.3', '127.0.0.2', '127.0.0.1'] } : {},
  );
  const client = createClient({ allowedAddresses: ['127.0.0.0/8'], dnsServers: [server.address] });
  expect((await client.send(toSend(`http://many.example:${receiver.port}/`))).status).toBe(200);
});
