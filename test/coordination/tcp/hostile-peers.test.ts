import { expect, onTestFinished, test } from 'vitest';
import { holdTimers } from '../../support/held-timers.js';
import { until } from '../../support/waiting.js';
import { NsjSocket } from './nsj-socket.js';
import { idleMs, messageTimeoutMs, startServer, tcpBell, type StartedServer } from './start-server.js';

/** Whether others are served, whatever one does. */
async function expectService({ server, worker, locker }: StartedServer): Promise<void> {
  const [one, routine] = [await worker(), await locker()];
  expect(await routine.call('try_lock(4711)')).toBe('True');
  expect(await routine.call('close()')).toBe('True');
  await one.call('nothing');
  server.wake();
  await one.accept();
  expect(await one.call('sleep()')).toBe('True');
}

test('a worker that does not answer NOTIFY loses its connection, and its locks', async () => {
  const timers = holdTimers((ms) => ms === messageTimeoutMs);
  const started = await startServer();
  const [silent, other] = [await started.worker(), await started.locker()];
  expect(await silent.call('try_lock(7)')).toBe('True');
  started.server.wake();
  expect(await silent.next()).toBe('NOTIFY');
  timers.ringFirst();
  expect(await other.call('try_lock(7)')).toBe('True');
  await silent.closed;
  expect(await started.reports.next()).toMatch(
    /^cut the connection of 127\.0\.0\.1:\d+: it did not answer NOTIFY within 600001 ms$/,
  );
  await expectService(started);
});

test('a message that does not end in time ends the connection, one byte at a time too', async () => {
  const timers = holdTimers((ms) => ms === messageTimeoutMs);
  const started = await startServer();
  const slow = await started.locker();
  const drip = setInterval(() => slow.write('x'), 10);
  await until(async () => timers.waiting === 1, 'the first byte');
  timers.ringFirst();
  await slow.closed.finally(() => clearInterval(drip));
  expect(timers.asked).toHaveLength(1);
  await expectService(started);
});

test('messages that are sent slowly, each in its time, are answered', async () => {
  const { locker } = await startServer();
  const slow = await locker();
  for (const part of ['try', '_lock(', '7)##', '#END', '##', '#']) slow.write(part);
  expect(await slow.next()).toBe('True');
});

test('two messages in one segment are answered both', async () => {
  const { locker } = await startServer();
  const one = await locker();
  one.write('try_lock(1)###END###try_lock(1)###END###');
  const answers = [await one.next()];
  if (answers[0] === 'True') answers.push(await one.next());
  // It reads as that library does: both answers may have come together.
  expect(answers.join('###END###')).toBe('True###END###False');
});

test('100 MB without an end mark end the connection, and nothing else', async () => {
  const started = await startServer();
  const flood = await started.locker();
  const part = Buffer.alloc(1_048_576, 'x');
  for (let count = 0; count < 100; count += 1) flood.write(part);
  await flood.closed;
  expect(await started.reports.next()).toMatch(/: it sent a message of more than 16384 bytes$/);
  await expectService(started);
});

test('bytes at random are answered or cut', async () => {
  const started = await startServer();
  for (const open of [started.worker, started.locker]) {
    const one = await open();
    one.write(Uint8Array.from({ length: 3_000 }, (_, at) => (at * 7_919 + (at >> 3)) & 0xff));
    expect(await Promise.race([one.call(''), one.closed])).not.toBe('True');
  }
  await expectService(started);
});

test('a request from a page in a browser is cut, and the calls in its body are not heard', async () => {
  const started = await startServer();
  const [page, other] = [await started.locker(), await started.locker()];
  page.write('POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n###END###try_lock(7)###END###');
  await page.closed;
  expect(await started.reports.next()).toMatch(/: it speaks a different protocol$/);
  expect(await other.call('try_lock(7)')).toBe('True');
});

test('a ring of the deepest nesting harms neither the server nor those who listen', async () => {
  const started = await startServer();
  const { server, locker } = started;
  const bell = tcpBell(server.lockPort, 'public.tasks', messageTimeoutMs);
  onTestFinished(() => bell.close());
  const heard: string[] = [];
  await bell.listen('ends', (id) => heard.push(id));
  const deep = '['.repeat(8_000) + ']'.repeat(8_000);
  const rings = await locker();
  for (const message of [deep, '"5"']) {
    expect(await rings.call(`ring({"queue":"public.tasks","topic":"ends","message":${message}})`)).toBe(
      'True',
    );
  }
  await until(async () => heard.length > 0, 'the ring');
  expect(heard).toEqual(['5']);
  await expectService(started);
});

test('a peer that asks and does not read is cut', async () => {
  const started = await startServer();
  const deaf = await started.locker();
  deaf.pause();
  const calls = Buffer.from('try_lock(1)###END###'.repeat(50_000));
  for (let count = 0; count < 40; count += 1) deaf.write(calls);
  await deaf.closed;
  expect(await started.reports.next()).toMatch(/: it does not read its messages$/);
  await expectService(started);
});

test('client n + 1 is refused on its port, which is said once, until another one goes', async () => {
  const started = await startServer({ maxClients: 2 });
  const workers = [await started.worker(), await started.worker()];
  for (const one of workers) await one.call('nothing');
  for (let count = 0; count < 3; count += 1) await (await NsjSocket.open(started.server.notifyPort)).closed;
  expect(await started.reports.next()).toMatch(
    /^refused a client from 127\.0\.0\.1: 2 clients are connected to port \d+/,
  );
  expect(started.reports.left).toBe(0);
  for (const one of workers)
    expect(await one.call('try_lock(1)').then(() => one.call('release_lock(1)'))).toBeTypeOf('string');
  workers[0]?.cut();
  await until(async () => {
    const next = await NsjSocket.open(started.server.notifyPort);
    return Promise.race([next.call('nothing'), next.closed]);
  }, 'a place for the next one');
});

test('1,000 connections leave those alone that are there, and go when they say nothing', async () => {
  const timers = holdTimers((ms) => ms === idleMs);
  const started = await startServer();
  const locker = await started.locker();
  expect(await locker.call('try_lock(7)')).toBe('True');
  const many = await Promise.all(
    Array.from({ length: 1_000 }, () => started.locker().catch(() => undefined)),
  );
  const left = new Set(many);
  for (const one of many) void one?.closed.then(() => left.delete(one));
  left.delete(undefined);
  // Where one goes another one may be let in that waited.
  await until(async () => {
    while (timers.waiting > 0) timers.ringFirst();
    return left.size === 0;
  }, 'their end');
  await expectService(started);
  expect(await locker.call('release_lock(7)')).toBe('True');
  timers.ringFirst();
  await locker.closed;
});

test('one client holds 10,000 locks at most', async () => {
  const { locker } = await startServer();
  const [greedy, other] = [await locker(), await locker()];
  for (let lock = 0; lock < 10_000; lock += 1) expect(await greedy.call(`try_lock(${lock})`)).toBe('True');
  expect(await greedy.call('try_lock(10000)')).toBe('False');
  expect(await other.call('try_lock(10000)')).toBe('True');
});
