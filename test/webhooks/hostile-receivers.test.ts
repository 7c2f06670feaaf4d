import { once } from 'node:events';
import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { holdTimers } from '../support/held-timers.js';
import { until } from '../support/waiting.js';
import { createClient, failing, startRawReceiver, startReceiver, toSend } from './kit/receivers.js';

const deadline = { timeoutMs: 300 };
/** A deadline that a test lets come. */
const longMs = 54_321;
const ok = 'HTTP/1.1 200 OK\r\n';

/** Ends what a receiver repeats when its test ends. */
function repeat(ms: number, act: () => void): void {
  const timer = setInterval(act, ms);
  onTestFinished(() => clearInterval(timer));
}

test('nothing listens', async () => {
  const { port, close } = await freePort();
  await close();
  expect(await failing(createClient(), `http://127.0.0.1:${port}/`)).toMatchObject({
    kind: 'connect',
    systemCode: 'ECONNREFUSED',
    message: `127.0.0.1, port ${port}, could not be reached: nothing is listening there`,
  });
});

test('accepts and sends nothing', async () => {
  const receiver = await startRawReceiver((socket) => socket.resume());
  const failure = await failing(createClient(deadline), receiver.url);
  expect(failure).toMatchObject({
    kind: 'timeout',
    message: '127.0.0.1 did not respond within 300 ms: it had sent no response',
  });
  expect(failure.durationMs).toBeGreaterThanOrEqual(290);
  await until(() => Promise.resolve(receiver.sockets[0]?.destroyed), 'the connection is closed');
});

test('sends its header one byte at a time', async () => {
  const receiver = await startRawReceiver((socket) => {
    socket.write(`${ok}x: `);
    repeat(5, () => socket.write('a'));
  });
  expect((await failing(createClient(deadline), receiver.url)).kind).toBe('timeout');
});

test('sends its body one byte at a time', async () => {
  const receiver = await startRawReceiver((socket) => {
    socket.write(`${ok}content-length: 100000\r\n\r\n`);
    repeat(5, () => socket.write('a'));
  });
  expect(await failing(createClient(deadline), receiver.url)).toMatchObject({
    kind: 'timeout',
    message: '127.0.0.1 did not respond within 300 ms: its response had started but was not complete',
  });
});

test('sends more than anyone reads', async () => {
  let written = 0;
  const receiver = await startRawReceiver((socket) => {
    socket.write(`${ok}content-type: text/plain\r\n\r\n`);
    const chunk = Buffer.alloc(65_536, 'x');
    const write = (): void => {
      while (!socket.destroyed && written < 2 ** 30) {
        written += chunk.length;
        if (!socket.write(chunk)) return void socket.once('drain', write);
      }
    };
    write();
  });
  const answer = await createClient().send(toSend(receiver.url));
  expect(answer).toMatchObject({ status: 200, ok: true, snippet: 'x'.repeat(8_192) });
  await until(() => Promise.resolve(receiver.sockets[0]?.destroyed), 'the connection is closed');
  expect(written).toBeLessThan(2 ** 26);
});

test('an answer within what is read leaves its connection open, though less is kept', async () => {
  const receiver = await startReceiver((_request, response) => response.end('é'.repeat(20_000)));
  const client = createClient({ maxAnswerBytes: 101 });
  // 101 bytes end in the middle of a character, which is left out.
  expect((await client.send(toSend(receiver.url))).snippet).toBe('é'.repeat(50));
  await client.send(toSend(receiver.url));
  expect(receiver.sockets).toHaveLength(1);
});

test('sends a gzip bomb: it is not unpacked', async () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  const receiver = await startReceiver((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.end(bomb);
  });
  const answer = await createClient().send(toSend(receiver.url));
  expect(answer.ok).toBe(true);
  expect(answer.snippet).toBe(`[gzip, no content type, ${bomb.length} bytes]`);
});

test('sends interim answers without end', async () => {
  const receiver = await startRawReceiver((socket) => {
    repeat(1, () => socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(3)));
  });
  expect((await failing(createClient(), receiver.url)).kind).toBe('protocol');
  await until(() => Promise.resolve(receiver.sockets[0]?.destroyed), 'the connection is closed');
});

test.each(['103 Early Hints\r\nlink: </a>', '100 Continue', '100 Continue\r\n\r\nHTTP/1.1 102 Processing'])(
  'sends an interim answer that nobody asked for, which is nothing unusual: %j',
  async (interim) => {
    const receiver = await startRawReceiver((socket) => {
      socket.on('data', () => socket.write(`HTTP/1.1 ${interim}\r\n\r\n${ok}content-length: 2\r\n\r\nok`));
    });
    const client = createClient();
    for (let sent = 0; sent < 2; sent += 1) {
      expect(await client.send(toSend(receiver.url))).toMatchObject({ status: 200, snippet: 'ok' });
    }
    expect(receiver.sockets).toHaveLength(1);
  },
);

test('switches protocols unasked', async () => {
  const receiver = await startRawReceiver((socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  );
  expect(['reset', 'protocol']).toContain((await failing(createClient(deadline), receiver.url)).kind);
});

test('sends header fields without end', async () => {
  const receiver = await startRawReceiver((socket) => {
    socket.write(ok);
    for (let field = 0; field < 1_000; field += 1) socket.write(`x-${field}: ${'a'.repeat(100)}\r\n`);
  });
  expect((await failing(createClient(), receiver.url)).kind).toBe('too-large-headers');
});

test('one header field without end', async () => {
  const receiver = await startRawReceiver((socket) => {
    socket.write(`${ok}x: `);
    repeat(1, () => socket.write('a'.repeat(4_096)));
  });
  expect((await failing(createClient(), receiver.url)).kind).toBe('too-large-headers');
});

test.each([
  ['before its answer', '', 'closed the connection without a response'],
  ['within its header', `${ok}content-le`, 'closed the connection without a response'],
  [
    'within its body',
    `${ok}content-length: 100\r\n\r\nabc`,
    'closed the connection before its response was complete',
  ],
  [
    'within a chunk',
    `${ok}transfer-encoding: chunked\r\n\r\n5\r\nab`,
    'closed the connection before its response was complete',
  ],
  [
    'within a chunk, the last of this connection',
    `${ok}connection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab`,
    'closed the connection before its response was complete',
  ],
])('closes its connection %s', async (_when, text, message) => {
  const closing = await startRawReceiver((socket) => void socket.once('data', () => socket.end(text)));
  expect(await failing(createClient(), closing.url)).toMatchObject({
    kind: 'reset',
    message: `127.0.0.1 ${message}`,
  });
  // A reset may overtake what was written before it.
  const resetting = await startRawReceiver((socket) => {
    socket.once('data', () => socket.write(text, () => socket.resetAndDestroy()));
  });
  expect((await failing(createClient(), resetting.url)).kind).toBe('reset');
  expect([closing.sockets.length, resetting.sockets.length]).toEqual([1, 1]);
});

test.each([
  ['something else', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['garbage', '\u0000\u0001\u0002\u0003'],
  ['two lengths', `${ok}content-length: 1\r\ncontent-length: 2\r\n\r\nab`],
  ['a bad chunk', `${ok}transfer-encoding: chunked\r\n\r\nzz\r\n`],
  ['an old protocol', 'ICY 200 OK\r\n\r\n'],
])('speaks %s', async (_what, text) => {
  const receiver = await startRawReceiver((socket) => socket.write(text));
  const failure = await failing(createClient(), receiver.url);
  expect(failure.kind).toBe('protocol');
  expect(failure.cause).toBeUndefined();
});

test('answers before it has read the request', async () => {
  const receiver = await startRawReceiver((socket) => {
    socket.pause();
    socket.end(`HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbig`);
  });
  const sending = createClient().send(toSend(receiver.url, { body: 'x'.repeat(5_000_000) }));
  // Whether the answer is read before the connection breaks is not ours to say; that it ends is.
  const status = await sending.then(
    (answer) => answer.status,
    (error: { kind: string }) => error.kind,
  );
  expect([413, 'reset']).toContain(status);
});

test('a slow receiver has one deadline over everything, not one per step', async () => {
  const deadlines = holdTimers((ms) => ms === longMs);
  const receiver = await startRawReceiver((socket) => socket.resume());
  const other = await startReceiver();
  const step = async (text: string): Promise<void> => {
    receiver.sockets[0]?.write(text);
    // What was written before this answer is read before it.
    await createClient().send(toSend(other.url));
  };
  const failure = failing(createClient({ timeoutMs: longMs }), receiver.url);
  await until(async () => receiver.sockets.length === 1, 'it connects');
  await step(ok);
  await step('content-length: 10\r\n\r\n12345');
  expect(deadlines.asked).toEqual([longMs]);
  deadlines.ringFirst();
  expect(await failure).toMatchObject({
    kind: 'timeout',
    message: `127.0.0.1 did not respond within ${longMs} ms: its response had started but was not complete`,
  });
});

test('one that hangs takes nobody else’s connection with it', async () => {
  const receiver = await startReceiver((request, response) => {
    if (request.path !== '/hang') response.end('ok');
  });
  const deadlines = holdTimers((ms) => ms === longMs);
  const client = createClient({ timeoutMs: longMs });
  const hanging = Array.from({ length: 5 }, () => failing(client, receiver.url.replace('/hook', '/hang')));
  for (let sent = 0; sent < 5; sent += 1) expect((await client.send(toSend(receiver.url))).ok).toBe(true);
  expect(deadlines.waiting).toBe(hanging.length);
  while (deadlines.waiting > 0) deadlines.ringFirst();
  expect((await Promise.all(hanging)).map(({ kind }) => kind)).toEqual(Array(5).fill('timeout'));
  expect((await client.send(toSend(receiver.url))).ok).toBe(true);
});

/** Takes a port of loopback. */
async function freePort(): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}
