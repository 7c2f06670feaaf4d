import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { natsCarrier } from '../../../lib/coordination/brokers/nats-carrier.js';
import { redisCarrier } from '../../../lib/coordination/brokers/redis-carrier.js';
import type { BellCarrier } from '../../../lib/coordination/kept-connection.js';
import type { RemoteBell } from '../../../lib/coordination/remote-bell.js';
import { Arrivals } from '../../support/arrivals.js';
import { createAuthority } from '../../webhooks/kit/certificates.js';
import { bellOf } from './bell-servers.js';
import { BrokerProcess, brokerStartMs } from './broker-process.js';

type Client = Readonly<Record<string, unknown>>;

/** How each is asked for a password and for TLS, and what its client is told then. */
const kinds = {
  redis: {
    carrier: (client: Client) => redisCarrier({ channel: 'rings', client }),
    url: (port: number, scheme = 'redis') => ({ url: `${scheme}://127.0.0.1:${port}` }),
    // The rights that the guide names.
    locked: () => [
      ...['--user', 'default', 'off', '--user', 'ana', 'on', '>open sesame'],
      ...['resetchannels', '&rings', '+publish', '+subscribe'],
    ],
    wrong: { username: 'ana', password: 'sesame' },
    right: { username: 'ana', password: 'open sesame' },
    refused: /WRONGPASS/,
    tls: (file: (name: string) => string, port: number) => [
      ...['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no'],
      ...['--tls-cert-file', file('cert'), '--tls-key-file', file('key'), '--tls-ca-cert-file', file('ca')],
    ],
    trusting: (port: number, ca: string) => ({
      url: `rediss://127.0.0.1:${port}`,
      socket: { tls: true, ca },
    }),
    distrusting: (port: number) => ({ url: `rediss://127.0.0.1:${port}`, socket: { tls: true } }),
  },
  nats: {
    carrier: (client: Client) => natsCarrier({ subject: 'rings', client }),
    url: (port: number) => ({ servers: `nats://127.0.0.1:${port}` }),
    locked: () => ['--user', 'ana', '--pass', 'open sesame'],
    wrong: { user: 'ana', pass: 'sesame' },
    right: { user: 'ana', pass: 'open sesame' },
    refused: /authorization violation/i,
    tls: (file: (name: string) => string) => [
      ...['--tls', '--tlscert', file('cert'), '--tlskey', file('key')],
    ],
    trusting: (port: number, ca: string) => ({ servers: `nats://127.0.0.1:${port}`, tls: { ca } }),
    distrusting: (port: number) => ({ servers: `nats://127.0.0.1:${port}`, tls: {} }),
  },
} as const;

type Kind = keyof typeof kinds;
const names = Object.keys(kinds) as Kind[];

/** What a server is asked for, and what its client then says. */
const passwords = [
  ...names.map((kind) => [kind, 'a password', kinds[kind]] as const),
  [
    'nats',
    'a token',
    {
      ...kinds.nats,
      locked: () => ['--auth', 'open sesame'],
      wrong: { token: 'sesame' },
      right: { token: 'open sesame' },
    },
  ],
] as const;

async function create(kind: Kind, args?: Parameters<typeof BrokerProcess.create>[1]): Promise<BrokerProcess> {
  const broker = await BrokerProcess.create(kind, args);
  onTestFinished(() => broker.remove());
  return broker;
}

async function bellBy(carrier: BellCarrier | Promise<BellCarrier>): Promise<RemoteBell> {
  const bell = await bellOf({ carrier: () => carrier }, 'public.tasks');
  onTestFinished(() => bell.close());
  return bell;
}

/** What a bell hears of ends, and whether it hears. */
async function listen(bell: RemoteBell) {
  const [heard, changes] = [new Arrivals<string>(), new Arrivals<string>()];
  await bell.listen(
    'ends',
    (id) => heard.add(id),
    (refusal) => changes.add(refusal instanceof Error ? refusal.message : String(refusal)),
  );
  return { heard, changes };
}

test.each(passwords)(
  '%s that wants %s is said to refuse a wrong one, and with the right one rings are heard',
  async (kind, _, { carrier, url, locked, wrong, right, refused }) => {
    const { port } = await create(kind, locked);
    const stranger = await listen(await bellBy(carrier({ ...url(port), ...wrong })));
    expect(await stranger.changes.next()).toMatch(refused);
    const { heard, changes } = await listen(await bellBy(carrier({ ...url(port), ...right })));
    expect(await changes.next()).toBe('undefined');
    await (await bellBy(carrier({ ...url(port), ...right }))).ring('ends', '5');
    expect(await heard.next()).toBe('5');
  },
  brokerStartMs,
);

test.each(names)(
  'through TLS, by an authority of the user’s, rings of %s are heard, and without it none',
  async (kind) => {
    const { carrier, tls, trusting, distrusting } = kinds[kind];
    const authority = createAuthority('bells');
    // The client of NATS names no server that is a number, and Node then looks for localhost.
    const { cert, key } = authority.issue(['127.0.0.1', 'localhost']);
    const { port } = await create(kind, async (folder, ofBroker) => {
      const file = (name: string): string => join(folder, `${name}.pem`);
      const contents = { ca: authority.ca, cert, key };
      for (const [name, text] of Object.entries(contents)) await writeFile(file(name), text);
      return tls(file, ofBroker);
    });
    const stranger = await listen(await bellBy(carrier(distrusting(port))));
    expect(await stranger.changes.next()).toMatch(/certificate|self.signed/i);
    const { heard, changes } = await listen(await bellBy(carrier(trusting(port, authority.ca))));
    expect(await changes.next()).toBe('undefined');
    await (await bellBy(carrier(trusting(port, authority.ca)))).ring('ends', '5');
    expect(await heard.next()).toBe('5');
  },
  brokerStartMs,
);

test.each(names)('what is no ring of %s is not heard', async (kind) => {
  const { carrier, url } = kinds[kind];
  const { port } = await create(kind);
  const made = await carrier(url(port));
  const { heard, changes } = await listen(await bellBy(made));
  expect(await changes.next()).toBe('undefined');
  const end = new AbortController();
  const liar = await made.connect({ received: () => undefined, gone: () => undefined, signal: end.signal });
  for (const text of ['', 'x', 'null', '5', '[]', '{"queue":"public.tasks","topic":"ends"}']) {
    await liar.publish(text);
  }
  await liar.publish('{"queue":"public.tasks","topic":"ends","message":"5"}');
  expect(await heard.next()).toBe('5');
  end.abort();
});
