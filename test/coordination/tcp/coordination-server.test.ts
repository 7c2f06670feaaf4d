import { expect, test } from 'vitest';
import { holdTimers } from '../../support/held-timers.js';
import { deferred, until } from '../../support/waiting.js';
import { idleMs, messageTimeoutMs, startServer } from './start-server.js';

test('a worker that waits is told of work, locks what it runs, and waits again', async () => {
  const { server, worker } = await startServer();
  const one = await worker();
  // Connected is not yet accepted.
  expect(await one.call('nothing')).toBe('False');
  server.wake();
  await one.accept();
  expect(await one.call('try_lock(7)')).toBe('True');
  expect(await one.call('release_lock(7)')).toBe('True');
  expect(await one.call('sleep()')).toBe('True');
  server.wake();
  expect(await one.next()).toBe('NOTIFY');
});

test('a worker that runs a task for however long gets one answer to each call', async () => {
  const timers = holdTimers((ms) => ms === messageTimeoutMs);
  const { server, worker } = await startServer();
  const one = await worker();
  await one.call('nothing');
  server.wake();
  await one.accept();
  expect(await one.call('try_lock(7)')).toBe('True');
  // Nothing ends its time, so nothing is said when it would have ended.
  expect([timers.asked.length, timers.waiting]).toEqual([1, 0]);
  expect(await one.call('release_lock(7)')).toBe('True');
  expect(await one.call('try_lock(8)')).toBe('True');
});

test('all workers that wait are told', async () => {
  const { server, worker } = await startServer();
  const workers = [await worker(), await worker(), await worker()];
  for (const one of workers) await one.call('nothing');
  server.wake();
  for (const one of workers) expect(await one.next()).toBe('NOTIFY');
});

test('a worker that is busy is told when it sleeps, once, and not together with the answer', async () => {
  const { server, worker } = await startServer();
  const one = await worker();
  await one.call('nothing');
  server.wake();
  await one.accept();
  expect(await one.call('try_lock(7)')).toBe('True');
  server.wake();
  server.wake();
  expect(await one.call('sleep()')).toBe('True');
  await one.accept();
  expect(await one.call('sleep()')).toBe('True');
  // Nothing else was sent meanwhile.
  expect(await one.call('nothing')).toBe('False');
});

test('a worker that declines, or was halted, is left alone', async () => {
  const { server, worker } = await startServer();
  const [declines, halted] = [await worker(), await worker()];
  await declines.call('nothing');
  expect(await halted.call('halt()')).toBe('True');
  server.wake();
  expect(await declines.call('FALSE').then(() => declines.call('nothing'))).toBe('False');
  server.wake();
  expect(await declines.next()).toBe('NOTIFY');
  expect(await halted.call('nothing')).toBe('False');
});

test('one lock has one holder, on both ports', async () => {
  const { worker, locker } = await startServer();
  const [one, other, routine] = [await worker(), await worker(), await locker()];
  expect(await one.call('try_lock(7)')).toBe('True');
  // Not even the holder gets it twice.
  for (const any of [one, other, routine]) expect(await any.call('try_lock(7)')).toBe('False');
  expect(await other.call('try_lock(8)')).toBe('True');
  expect(await one.call('release_lock(7)')).toBe('True');
  expect(await routine.call('try_lock(7)')).toBe('True');
});

test('a lock of another one is not released', async () => {
  const { worker, locker } = await startServer();
  const [one, other, routine] = [await worker(), await worker(), await locker()];
  expect(await one.call('try_lock(7)')).toBe('True');
  expect(await other.call('release_lock(7)')).toBe('False');
  expect(await routine.call('release_lock(7)')).toBe('False');
  expect(await routine.call('try_lock(7)')).toBe('False');
  // What nobody holds is released: a worker says so after each task.
  expect(await other.call('release_lock(8)')).toBe('True');
});

test.each(['worker', 'locker'] as const)(
  'the locks of a %s go with its connection, those of others stay',
  async (kind) => {
    const started = await startServer();
    const [one, other, looks] = [await started[kind](), await started[kind](), await started.locker()];
    expect(await one.call('try_lock(1)')).toBe('True');
    expect(await one.call('try_lock(2)')).toBe('True');
    expect(await other.call('try_lock(3)')).toBe('True');
    one.cut();
    await until(async () => (await looks.call('try_lock(1)')) === 'True', 'the lock');
    expect(await looks.call('try_lock(2)')).toBe('True');
    expect(await looks.call('try_lock(3)')).toBe('False');
  },
);

test('close() frees the locks before it is answered, and ends the connection', async () => {
  const { locker } = await startServer();
  const [one, other] = [await locker(), await locker()];
  expect(await one.call('try_lock(1)')).toBe('True');
  expect(await one.call('close()')).toBe('True');
  expect(await other.call('try_lock(1)')).toBe('True');
  await one.closed;
});

test('nobody can stop the server from outside, and what belongs to one port is refused at the other', async () => {
  const { worker, locker } = await startServer();
  const [one, routine] = [await worker(), await locker()];
  for (const any of [one, routine]) expect(await any.call('halt_server()')).toBe('False');
  for (const call of ['sleep()', 'halt()']) expect(await routine.call(call)).toBe('False');
  for (const call of ['listen("public.tasks")', 'ring({"queue":"public.tasks","topic":"tasks"})'])
    expect(await one.call(call)).toBe('False');
});

test('a ring for tasks of its queue wakes the workers that wait', async () => {
  const { worker, locker } = await startServer();
  const [one, rings] = [await worker(), await locker()];
  await one.call('nothing');
  expect(await rings.call('ring({"queue":"public.others","topic":"tasks"})')).toBe('True');
  expect(await rings.call('ring({"queue":"public.tasks","topic":"ends","message":"1"})')).toBe('True');
  expect(await one.call('nothing')).toBe('False');
  expect(await rings.call('ring({"queue":"public.tasks","topic":"tasks"})')).toBe('True');
  expect(await one.next()).toBe('NOTIFY');
});

test('a restarted server lets its workers lock again', async () => {
  const { server, worker } = await startServer();
  const one = await worker();
  expect(await one.call('try_lock(7)')).toBe('True');
  const { notifyPort, lockPort } = server;
  await server.close();
  await one.closed;
  const again = await startServer({ notifyPort, lockPort });
  const back = await again.worker();
  expect(await back.call('try_lock(7)')).toBe('True');
});

test('a port that another program has is said, and the other port is free again', async () => {
  const { server } = await startServer();
  await expect(startServer({ lockPort: server.notifyPort })).rejects.toThrow(/EADDRINUSE/);
});

test('who waits for an answer is not sent away for its silence', async () => {
  const timers = holdTimers((ms) => ms === idleMs);
  const [asked, may] = [deferred(), deferred<boolean>()];
  const mayLock = (): Promise<boolean> => {
    asked.resolve();
    return may.promise;
  };
  const { locker } = await startServer({ mayLock });
  const one = await locker();
  expect(await one.call('nothing')).toBe('False');
  const answer = one.call('try_lock(7)');
  await asked.promise;
  while (timers.waiting > 0) timers.ringFirst();
  may.resolve(true);
  expect(await answer).toBe('True');
});
