import { describe, expect, test } from 'vitest';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import type { ServerOptions } from '../../lib/index.js';

const queue = { connection: 'postgres://localhost/shop', queue: 'shop_queue' };

function resolve(server: boolean | ServerOptions, env: Readonly<Record<string, string>> = {}) {
  return resolveOptions({ ...queue, server }, env).server;
}

const defaults = {
  host: '127.0.0.1',
  notifyPort: 8_770,
  lockPort: 8_970,
  maxClients: 50,
  checkIntervalMs: 15_000,
  idleTimeoutMs: 30_000,
  messageTimeoutMs: 5_000,
};

test('a process is a server when its options say so, with the defaults of nsj-queue-lib', () => {
  expect(resolveOptions(queue, { NOTIFY_SERVICE_PORT: '1' }).server).toBeUndefined();
  for (const none of [false, null, undefined]) expect(resolve(none as boolean)).toBeUndefined();
  expect(resolve(true)).toEqual(defaults);
  expect(resolve({ maxClients: undefined })).toEqual(defaults);
});

test.each([
  ['NOTIFY_SERVICE_PORT', ' 9000 ', { notifyPort: 9_000 }],
  ['LOCK_SERVICE_PORT', '9001', { lockPort: 9_001 }],
  ['MAX_CLIENT_THREADS', '7', { maxClients: 7 }],
  ['CHECK_TASKS_INTERVAL', '0.5', { checkIntervalMs: 500 }],
  ['LOCK_SERVICE_WAIT_CONN_INTERVAL', '60', { idleTimeoutMs: 60_000 }],
  ['TIMEOUT_SOCKET_MESSAGE', '2', { messageTimeoutMs: 2_000 }],
])('%s is read, and an option stands above it', (variable, text, expected) => {
  const env = { [variable]: text };
  expect(resolve(true, env)).toEqual({ ...defaults, ...expected });
  const [name = ''] = Object.keys(expected);
  expect(resolve({ [name]: 11 }, env)).toEqual({ ...defaults, [name]: 11 });
  expect(resolve({ [name]: 11 }, { [variable]: 'x' })).toEqual({ ...defaults, [name]: 11 });
  expect(() => resolve(true, { [variable]: 'many' })).toThrow(`${variable} must be a number, not "many"`);
  expect(() => resolve(true, { [variable]: '999999999' })).toThrow(
    `server.${name} (${variable}) must be a whole number`,
  );
});

test.each([
  ['yes', /server must be true, false or an object/],
  [{ ports: 1 }, /unknown option 'server\.ports'/],
  [{ notifyPort: 1.5 }, /server\.notifyPort must be a whole number from 0 to 65535, not 1\.5/],
  [{ maxClients: 0 }, /server\.maxClients must be a whole number from 1 to 10000/],
  [{ notifyPort: 9_000, lockPort: 9_000 }, /server\.notifyPort and server\.lockPort are both 9000/],
  [{ host: '' }, /server\.host must be an address/],
  [{ allowUnauthenticated: 'yes' }, /server\.allowUnauthenticated must be true or false/],
])('%j is a mistake', (server, message) => {
  expect(() => resolve(server as ServerOptions)).toThrow(message);
});

describe('an address that other computers reach', () => {
  test.each(['0.0.0.0', '::', '10.0.0.5', 'queue.internal', '127.0.0.1.example.com', '1270.0.0.1'])(
    '%s needs a word that the wire has no authentication',
    (host) => {
      expect(() => resolve({ host })).toThrow(
        /server\.host is ".+", which other computers can reach, and the protocol has neither authentication nor encryption/,
      );
      expect(() => resolve({ host, allowUnauthenticated: false })).toThrow(
        /Set server\.allowUnauthenticated: true/,
      );
      expect(resolve({ host, allowUnauthenticated: true })).toEqual({ ...defaults, host });
    },
  );

  test.each(['127.0.0.1', '127.8.8.8', '::1', 'localhost'])('%s is none', (host) => {
    expect(resolve({ host })).toEqual({ ...defaults, host });
  });
});
