import { expect, test } from 'vitest';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';

const mode = { CLIENT_SERVER_MODE: 'TRUE' };
const defaults = { host: '127.0.0.1', notifyPort: 8_770, lockPort: 8_970, messageTimeoutMs: 5_000 };

const resolve = (
  env: Readonly<Record<string, string>>,
  interop: 'nsj' | false = 'nsj',
  scheme = 'postgres',
) => resolveOptions({ connection: `${scheme}://db/shop`, queue: 'shop_queue', interop }, env).sharedServer;

test('a worker with interop shares the server of the mode, on every database', () => {
  expect(resolve(mode)).toEqual(defaults);
  expect(resolve(mode, 'nsj', 'mysql')).toEqual(defaults);
  expect(resolve({})).toBeUndefined();
  expect(resolve(mode, false)).toBeUndefined();
  expect(() => resolve({}, 'nsj', 'mysql')).toThrow('set CLIENT_SERVER_MODE=TRUE if its workers take locks');
});

test.each([
  ['SERVER_HOST', ' queue.internal ', { host: 'queue.internal' }],
  ['NOTIFY_SERVICE_PORT', '9000', { notifyPort: 9_000 }],
  ['LOCK_SERVICE_PORT', '9001', { lockPort: 9_001 }],
  ['TIMEOUT_SOCKET_MESSAGE', '2.5', { messageTimeoutMs: 2_500 }],
])('%s says where and how', (variable, text, expected) => {
  expect(resolve({ ...mode, [variable]: text })).toEqual({ ...defaults, ...expected });
});

test('a variable that is no number is a mistake', () => {
  expect(() => resolve({ ...mode, NOTIFY_SERVICE_PORT: 'any' })).toThrow(
    'NOTIFY_SERVICE_PORT must be a number',
  );
});
