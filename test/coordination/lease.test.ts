import { afterEach, expect, test } from 'vitest';
import { Lease } from '../../lib/coordination/lease/lease.js';
import { Arrivals } from '../support/arrivals.js';

// Threads that keep no lease of a database, but live and die as they are told: what they count is shared by all of them.
const preamble = `
import { parentPort, workerData } from 'node:worker_threads';
const { database, renewedAt, wasLost, password } = workerData;
const started = Atomics.add(new Int32Array(database.counter), 0, 1) + 1;
const renew = () => {
  Atomics.store(new BigInt64Array(renewedAt), 0, process.hrtime.bigint());
  if (wasLost) parentPort.postMessage({ type: 'restored' });
};
parentPort.on('message', () => parentPort.close());
`;

const leases: Lease[] = [];

afterEach(() => Promise.all(leases.splice(0).map((lease) => lease.stop())));

function start(code: string, nextPassword?: () => Promise<string>) {
  const counter = new SharedArrayBuffer(4);
  const database = { config: {}, counter };
  const told = new Arrivals<unknown>();
  const lease = new Lease({
    thread: {
      module: new URL(`data:text/javascript,${encodeURIComponent(preamble + code)}`),
      database,
      password: nextPassword,
    },
    password: nextPassword && 'first',
    workerId: '7',
    renewMs: 2_500,
    leaseMs: 10_000,
    lost: (error) => told.add(error),
    restored: () => told.add('restored'),
  });
  leases.push(lease);
  lease.start(process.hrtime.bigint());
  return { lease, told, started: () => Atomics.load(new Int32Array(counter), 0) };
}

test('a thread that dies is replaced, and the next one goes on', async () => {
  const { lease, told, started } = start(`if (started === 1) throw new Error('out of memory'); renew();`);
  expect(await told.next()).toMatchObject({ message: 'out of memory' });
  expect(lease.failure).toMatchObject({ message: 'out of memory' });
  expect(await told.next()).toBe('restored');
  expect(started()).toBe(2);
  expect([lease.valid, lease.failure]).toEqual([true, undefined]);
});

test('so is one that ends without an error, and one whose successor ends too; the loss is told once', async () => {
  const { told, started } = start(`if (started < 3) process.exit(0); renew();`);
  expect(await told.next()).toMatchObject({ message: 'the thread that renews the lease ended' });
  expect(await told.next()).toBe('restored');
  expect(started()).toBe(3);
});

test('renewals that fail are told once, and what failed last is known', async () => {
  const { lease, told } = start(`
    parentPort.postMessage({ type: 'failed', error: new Error('first') });
    parentPort.postMessage({ type: 'failed', error: new Error('second') });
    parentPort.postMessage({ type: 'restored' });
    parentPort.postMessage({ type: 'failed', error: new Error('third') });`);
  expect(await told.next()).toMatchObject({ message: 'first' });
  expect(await told.next()).toBe('restored');
  expect(await told.next()).toMatchObject({ message: 'third' });
  expect(lease.failure).toMatchObject({ message: 'third' });
});

test('a thread that is told to stop is not replaced', async () => {
  const { lease, told, started } = start(`renew();`);
  await lease.stop();
  expect([started(), told.left]).toEqual([1, 0]);
});

test('the thread is given a new password whenever it wants one, or why there is none; the next thread begins with the last', async () => {
  const passwords = [async () => 'second', async () => Promise.reject(new Error('no token'))];
  const { told } = start(
    `
    const says = (message) => parentPort.postMessage({ type: 'failed', error: new Error(message) });
    const asks = () => parentPort.postMessage({ type: 'password wanted' });
    if (started === 2) {
      parentPort.postMessage({ type: 'restored' });
      says('begins with ' + password);
    } else {
      const heard = [password];
      parentPort.removeAllListeners('message');
      parentPort.on('message', ({ password, error }) => {
        heard.push(password ?? error.message);
        if (heard.length < 3) return asks();
        throw new Error(heard.join(', '));
      });
      asks();
    }`,
    () => passwords.shift()?.() ?? Promise.reject(new Error('asked too often')),
  );
  expect(await told.next()).toMatchObject({ message: 'first, second, no token' });
  expect(await told.next()).toBe('restored');
  expect(await told.next()).toMatchObject({ message: 'begins with second' });
});
