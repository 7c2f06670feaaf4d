import { connect, Socket } from 'node:net';
import { expect, test } from 'vitest';
import { dialAny } from '../../lib/webhooks/dial.js';
import { until } from '../support/waiting.js';
import { startRawReceiver } from './kit/receivers.js';

/** Sockets by address; those in 192.0.2.0/24 never connect and never fail. */
function recording() {
  const opened: { readonly host: string | undefined; readonly socket: Socket }[] = [];
  const open: typeof connect = (options: unknown) => {
    const { host } = options as { readonly host?: string };
    const socket = host?.startsWith('192.0.2.') ? new Socket() : connect(options as { port: number });
    opened.push({ host, socket });
    return socket;
  };
  return { opened, open };
}

const never = new AbortController().signal;

test('a silent address is not waited for, and given up when another answers', async () => {
  const receiver = await startRawReceiver(() => undefined);
  const { opened, open } = recording();
  const socket = await dialAny(['192.0.2.1', '192.0.2.2', '127.0.0.1'], receiver.port, never, open);
  expect(socket.remoteAddress).toBe('127.0.0.1');
  expect(opened.map(({ host, socket: { destroyed } }) => [host, destroyed])).toEqual([
    ['192.0.2.1', true],
    ['192.0.2.2', true],
    ['127.0.0.1', false],
  ]);
  socket.destroy();
});

test('of thousands of addresses eight are tried', async () => {
  const { opened, open } = recording();
  const refusing = Array.from({ length: 3_000 }, () => '127.0.0.1');
  // Port 1 of loopback: nothing listens there.
  await expect(dialAny(refusing, 1, never, open)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  expect(opened).toHaveLength(8);
});

test('giving up closes what was dialled, and dials nothing more', async () => {
  const { opened, open } = recording();
  const controller = new AbortController();
  const dialling = dialAny(['192.0.2.1', '192.0.2.2', '192.0.2.3'], 80, controller.signal, open);
  await until(() => Promise.resolve(opened.length >= 2), 'the second is dialled');
  controller.abort(new Error('given up'));
  const dialled = opened.length;
  await expect(dialling).rejects.toThrow('given up');
  expect(opened.every(({ socket }) => socket.destroyed)).toBe(true);
  await expect(dialAny(['192.0.2.1'], 80, controller.signal, open)).rejects.toThrow('given up');
  expect(opened).toHaveLength(dialled);
});

test('a connected socket that breaks is its owner’s matter', async () => {
  const receiver = await startRawReceiver((socket) => {
    socket.once('data', () => socket.resetAndDestroy());
  });
  const socket = await dialAny(['127.0.0.1'], receiver.port, never);
  const closed = new Promise<boolean>((resolve) => void socket.once('close', resolve));
  // An error that nobody handled would end the process.
  socket.resume().write('x');
  expect(await closed).toBe(true);
});
