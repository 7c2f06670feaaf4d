import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { RemoteBell } from '../../../lib/coordination/remote-bell.js';
import { Arrivals } from '../../support/arrivals.js';
import { holdTimers } from '../../support/held-timers.js';
import { deferred } from '../../support/waiting.js';
import { idleMs, messageTimeoutMs, startServer, tcpBell } from './start-server.js';

/** A bell of a queue, until the test ends. */
function bellAt(port: number, timeoutMs?: number): RemoteBell {
  const bell = tcpBell(port, 'public.tasks', timeoutMs);
  onTestFinished(() => bell.close());
  return bell;
}

/** What is heard of tasks, and whether anything can be. */
async function listen(bell: RemoteBell) {
  const [heard, changes] = [new Arrivals<unknown>(), new Arrivals<string>()];
  const stop = await bell.listen(
    'tasks',
    (ring) => heard.add(ring),
    (refusal) => changes.add(refusal instanceof Error ? refusal.message : String(refusal)),
  );
  return { heard, changes, stop };
}

test('a server that was restarted is connected to again, and listeners look for what was rung meanwhile', async () => {
  const first = await startServer();
  const bell = bellAt(first.server.lockPort);
  const { heard, changes } = await listen(bell);
  expect(await changes.next()).toBe('undefined');
  const { notifyPort, lockPort } = first.server;
  await first.server.close();
  expect(await changes.next()).toMatch(/^the connection to the server at 127\.0\.0\.1:\d+ was lost: /);
  await bellAt(lockPort).ring('tasks', {});
  await startServer({ notifyPort, lockPort });
  expect(await heard.next()).toMatchObject({ later: true, halt: false });
  await bellAt(lockPort).ring('tasks', { dueMs: 5, highest: 7 });
  expect(await heard.next()).toMatchObject({ dueMs: 5, highest: 7 });
});

test('a listener without a server is told why, and hears as soon as there is one', async () => {
  const { server } = await startServer();
  const { notifyPort, lockPort } = server;
  await server.close();
  const { heard, changes } = await listen(bellAt(lockPort));
  expect(await changes.next()).toMatch(/ECONNREFUSED/);
  await startServer({ notifyPort, lockPort });
  expect(await heard.next()).toMatchObject({ later: true });
});

test('a server that sends no rings is said to be another one', async () => {
  const { server } = await startServer();
  const { changes } = await listen(bellAt(server.notifyPort));
  expect(await changes.next()).toMatch(/it sends no rings: it is the server of nsj-queue-lib/);
});

test('a ring to a server that is gone is lost without an error', async () => {
  const { server } = await startServer();
  const { lockPort } = server;
  await server.close();
  const bell = bellAt(lockPort);
  await expect(bell.ring('tasks', {})).resolves.toBeUndefined();
  await expect(bell.ring('ends', '5')).resolves.toBeUndefined();
});

test('a ring to a server that says nothing is lost when its time is over, and so is the connection', async () => {
  const timers = holdTimers((ms) => ms === messageTimeoutMs);
  const [arrived, closed] = [new Arrivals<Buffer>(), deferred()];
  const silent = createServer((socket) => {
    socket.on('data', (bytes) => arrived.add(bytes)).on('error', () => undefined);
    socket.on('close', () => closed.resolve());
  });
  onTestFinished(() => void silent.close());
  await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening));
  const ringing = bellAt((silent.address() as AddressInfo).port, messageTimeoutMs).ring('ends', '5');
  await arrived.next();
  timers.ringFirst();
  await expect(Promise.all([ringing, closed.promise])).resolves.toEqual([undefined, undefined]);
});

test('who only rings connects for a ring, also after the server has ended the idle connection', async () => {
  const timers = holdTimers((ms) => ms === idleMs);
  const { server, worker } = await startServer();
  const waiting = await worker();
  await waiting.call('nothing');
  const bell = bellAt(server.lockPort);
  await bell.ring('tasks', {});
  await waiting.accept();
  expect(await waiting.call('sleep()')).toBe('True');
  const told = waiting.next();
  timers.ringFirst();
  // One that comes just as the connection ends is lost.
  const ringing = setInterval(() => void bell.ring('tasks', {}), 100);
  expect(await told.finally(() => clearInterval(ringing))).toBe('NOTIFY');
});

test('what is due at once is not said to be due later, whatever else was inserted with it', async () => {
  const { server } = await startServer();
  const { heard } = await listen(bellAt(server.lockPort));
  await bellAt(server.lockPort).ring('tasks', {
    sentAt: performance.now(),
    dueMs: 4_000_000_000_000,
    highest: 50,
  });
  expect(await heard.next()).toMatchObject({ dueMs: 'lately', highest: 50 });
});

test('rings that are no messages of their topic are not heard', async () => {
  const { server, locker } = await startServer();
  const bell = bellAt(server.lockPort);
  const ends = new Arrivals<string>();
  await bell.listen('ends', (id) => ends.add(id));
  const { heard } = await listen(bell);
  const liar = await locker();
  const ring = (topic: string, message: unknown): Promise<string> =>
    liar.call(`ring(${JSON.stringify({ queue: 'public.tasks', topic, message })})`);
  for (const message of [null, 'x', 5, undefined]) await ring('tasks', message);
  for (const message of [null, 5, 'abc', {}]) await ring('ends', message);
  for (const topic of ['constructor', '__proto__', 'others', 'waits']) await ring(topic, {});
  await ring('tasks', { later: 'yes', dueMs: '5', route: 7, halt: 1 });
  await ring('ends', '5');
  expect(await heard.next()).toEqual({
    later: false,
    halt: false,
    changed: false,
    dueMs: undefined,
    highest: undefined,
    route: undefined,
  });
  expect(await ends.next()).toBe('5');
});

/** A server that accepts connections and says nothing to them, until the test ends. */
async function startSilent(): Promise<{ readonly port: number; readonly opened: Arrivals<Socket> }> {
  const opened = new Arrivals<Socket>();
  const silent = createServer((socket) => opened.add(socket.on('error', () => undefined)));
  onTestFinished(() => void silent.close());
  await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening));
  return { port: (silent.address() as AddressInfo).port, opened };
}

test('who closes while a ring waits for its connection waits for no ring', async () => {
  const { port } = await startSilent();
  const bell = bellAt(port);
  const ringing = bell.ring('tasks', {});
  await bell.close();
  await expect(Promise.all([ringing, bell.settled()])).resolves.toEqual([undefined, undefined]);
});

test('who begins to listen while it rings loses neither that ring nor later ones', async () => {
  const { server, worker } = await startServer();
  const waiting = await worker();
  await waiting.call('nothing');
  const bell = bellAt(server.lockPort);
  const [, { changes }] = await Promise.all([bell.ring('tasks', {}), listen(bell)]);
  expect(await changes.next()).toBe('undefined');
  await waiting.accept();
  expect(await waiting.call('sleep()')).toBe('True');
  await bell.ring('tasks', {});
  expect(await waiting.next()).toBe('NOTIFY');
});

test('who listens just after a ring was lost is told why it hears nothing, and hears as soon as it can', async () => {
  const { server } = await startServer();
  const { notifyPort, lockPort } = server;
  await server.close();
  const bell = bellAt(lockPort);
  await bell.ring('tasks', {});
  const { heard, changes } = await listen(bell);
  expect(await changes.next()).toMatch(/ECONNREFUSED/);
  await startServer({ notifyPort, lockPort });
  expect(await heard.next()).toMatchObject({ later: true });
});

test('a server that is full is not connected to again for each ring', async () => {
  let connections = 0;
  // So does a server that has as many clients as it lets in.
  const full = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  onTestFinished(() => void full.close());
  await new Promise<void>((listening) => full.listen(0, '127.0.0.1', listening));
  const bell = bellAt((full.address() as AddressInfo).port);
  // Of the pause after a failure.
  holdTimers((ms) => ms >= 100 && ms <= 200);
  for (let count = 0; count < 5; count += 1) await bell.ring('tasks', {});
  expect(connections).toBe(1);
});
