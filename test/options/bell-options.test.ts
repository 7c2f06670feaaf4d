import { expect, test } from 'vitest';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { nats, redis, tcp, type QueueBell, type TcpBellOptions } from '../../lib/index.js';

const queue = { connection: 'postgres://localhost/shop', queue: 'shop_queue' };

function resolve(options: TcpBellOptions | undefined, env: Readonly<Record<string, string>> = {}) {
  return resolveOptions({ ...queue, bell: tcp(options) }, env).bell;
}

const defaults = { kind: 'tcp', host: '127.0.0.1', port: 8_970, messageTimeoutMs: 5_000 };

test('without the option and the mode the database alone wakes, whatever other variables say', () => {
  expect(resolveOptions(queue, { SERVER_HOST: 'queue', LOCK_SERVICE_PORT: '9000' }).bell).toBeUndefined();
  expect(resolve(undefined)).toEqual(defaults);
});

test('CLIENT_SERVER_MODE is the option, unless options say else', () => {
  const env = { CLIENT_SERVER_MODE: ' true ', SERVER_HOST: 'queue', LOCK_SERVICE_PORT: '9000' };
  expect(resolveOptions(queue, env).bell).toEqual({ ...defaults, host: 'queue', port: 9_000 });
  expect(resolve({ host: '10.0.0.5' }, env)).toEqual({ ...defaults, host: '10.0.0.5', port: 9_000 });
  expect(resolveOptions({ ...queue, wake: 'poll' }, env).bell).toBeUndefined();
  // The server that both kinds lock in may be that of nsj-queue-lib, which knows no rings.
  expect(resolveOptions({ ...queue, interop: 'nsj' }, env).bell).toBeUndefined();
  for (const text of ['', 'FALSE', '1']) {
    expect(resolveOptions(queue, { ...env, CLIENT_SERVER_MODE: text }).bell).toBeUndefined();
  }
});

test.each([
  ['SERVER_HOST', ' queue.internal ', { host: 'queue.internal' }, { host: '10.0.0.5' }],
  ['LOCK_SERVICE_PORT', '9001', { port: 9_001 }, { port: 11 }],
  ['TIMEOUT_SOCKET_MESSAGE', '2.5', { messageTimeoutMs: 2_500 }, { messageTimeoutMs: 11 }],
])('%s is read, and an option stands above it', (variable, text, expected, option) => {
  expect(resolve({}, { [variable]: text })).toEqual({ ...defaults, ...expected });
  expect(resolve(option, { [variable]: text })).toEqual({ ...defaults, ...option });
});

test.each([
  [{ kind: 'kafka', options: {} }, /bell must be created by tcp\(\), redis\(\) or nats\(\)/],
  [{ kind: 'nats' }, /bell must be created by tcp\(\)/],
  [{ kind: 'constructor', options: {} }, /bell must be created by tcp\(\)/],
  ['tcp', /bell must be created by tcp\(\)/],
  [{ kind: 'tcp' }, /bell must be created by tcp\(\)/],
  [tcp({ host: '' }), /bell\.host must be an address/],
  [tcp({ port: 0 }), /bell\.port must be a whole number from 1 to 65535, not 0/],
  [{ kind: 'tcp', options: { ports: 1 } }, /unknown option 'bell\.ports': did you mean 'bell\.port'\?/],
  [{ kind: 'redis', options: {} }, /bell\.url is missing: give redis\(\) an address/],
  [redis({ url: 'localhost:6379' }), /bell\.url must begin with redis:\/\/ or rediss:\/\//],
  [redis({ url: 'http://ana:sesame@localhost' }), /^(?!.*sesame)/s],
  [{ kind: 'redis', options: { socket: 'localhost' } }, /bell\.socket must be an object of options/],
  [redis({ url: 'redis://localhost', channel: '' }), /bell\.channel must be text/],
  [{ kind: 'nats', options: {} }, /bell\.servers must be an address, such as nats:/],
  [nats({ servers: [] }), /bell\.servers must be an address/],
  [nats({ servers: ['nats://localhost', ''] }), /bell\.servers must be an address/],
  [nats({ servers: 'localhost', subject: 'rings.*' }), /bell\.subject must be words separated by dots/],
])('%j is a mistake', (bell, message) => {
  expect(() => resolveOptions({ ...queue, bell: bell as QueueBell }, {})).toThrow(message);
});

test('a bell and polls alone exclude each other', () => {
  expect(() => resolveOptions({ ...queue, bell: tcp(), wake: 'poll' }, {})).toThrow(
    `bell wakes workers, but wake is 'poll': leave one of them out`,
  );
});

test('what Redis and NATS are told is told to their clients, and rings of queues go apart', () => {
  const bells = [
    redis({ url: 'rediss://localhost:1', password: 'sesame', pingInterval: 5 }),
    redis({ socket: { host: 'localhost', tls: true }, channel: 'shop rings' }),
    nats({ servers: 'localhost', token: 'sesame', tls: { ca: 'x' }, maxPingOut: 1 }),
    nats({ servers: ['localhost'], subject: 'shop.rings' }),
  ];
  expect(bells.map((bell) => resolveOptions({ ...queue, bell }, {}).bell)).toEqual([
    {
      kind: 'redis',
      channel: 'tarefa.shop_queue',
      client: { url: 'rediss://localhost:1', password: 'sesame', pingInterval: 5 },
    },
    { kind: 'redis', channel: 'shop rings', client: { socket: { host: 'localhost', tls: true } } },
    {
      kind: 'nats',
      subject: 'tarefa.shop_queue',
      client: { servers: 'localhost', token: 'sesame', tls: { ca: 'x' }, maxPingOut: 1 },
    },
    { kind: 'nats', subject: 'shop.rings', client: { servers: ['localhost'] } },
  ]);
  const odd = { ...queue, queue: 'fila.1.*', table: 'fila' };
  expect(resolveOptions({ ...odd, bell: nats({ servers: 'localhost' }) }, {}).bell).toMatchObject({
    subject: 'tarefa.fila_1__',
  });
});
