import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { readSettings } from '../../bench/harness/adapter/adapter-settings.js';
import { Credit } from '../../bench/harness/adapter/credit.js';
import type { HarnessedQueue, Job } from '../../bench/harness/adapter/harnessed-queue.js';
import { Producer } from '../../bench/harness/adapter/producer.js';
import { Progress } from '../../bench/harness/adapter/progress.js';
import { until } from '../support/waiting.js';

it('credits the time that has passed, however late it is asked', () => {
  const credit = new Credit(1_000);
  credit.earn(1_005, 800);
  expect(credit.take(128)).toBe(4);
  // A round of a second instead of 10 ms.
  credit.earn(2_005, 800);
  expect([credit.take(500), credit.take(500), credit.take(500)]).toEqual([500, 300, 0]);
  credit.giveBack(7);
  expect(credit.take(128)).toBe(7);
});

it('inserts what each token of the harness asks for, also when the server was away meanwhile', async () => {
  const inserted: number[] = [];
  let failures = 2;
  const queue = fakeQueue(async (jobs) => {
    failures -= 1;
    if (failures >= 0) throw new Error('connect ECONNREFUSED');
    inserted.push(jobs.length);
  });
  const settings = readSettings({ DATABASE_URL: 'postgres://x/y', PRODUCER_PACING: 'harness' });
  const progress = new Progress();
  const producer = new Producer(queue, settings, progress, () => undefined);
  const input = new PassThrough();
  producer.start(input);
  input.write('ENQUEUE 12\nnonsense\nENQUEUE 3\n');
  await until(async () => inserted.length === 2, 'both tokens are inserted');
  expect([inserted, progress.enqueued]).toEqual([[12, 3], 15]);
  await producer.stop();
});

it('fills several queues in turn, also with batches of one size', async () => {
  const queues: number[] = [];
  const queue = fakeQueue(async (_, index) => void queues.push(index));
  const environment = { DATABASE_URL: 'postgres://x/y', PRODUCER_PACING: 'harness', BENCH_QUEUE_COUNT: '4' };
  const producer = new Producer(queue, readSettings(environment), new Progress(), () => undefined);
  const input = new PassThrough();
  producer.start(input);
  input.write('ENQUEUE 8\n'.repeat(4));
  await until(async () => queues.length === 4, 'all tokens are inserted');
  expect(new Set(queues)).toEqual(new Set([0, 1, 2, 3]));
  await producer.stop();
});

it('refuses settings that the contract does not name', () => {
  expect(() => readSettings({})).toThrow('DATABASE_URL must be set');
  const environment = { DATABASE_URL: 'postgres://x/y' };
  expect(readSettings(environment)).toMatchObject({ producerRate: 800, batchMax: 128, workerCount: 32 });
  expect(() => readSettings({ ...environment, SCENARIO: 'all' })).toThrow('long_horizon');
  expect(() => readSettings({ ...environment, PRODUCER_MODE: 'burst' })).toThrow('fixed or depth-target');
  expect(() => readSettings({ ...environment, WORKER_COUNT: 'many' })).toThrow('takes a number');
});

function fakeQueue(insert: (jobs: readonly Job[], queue: number) => Promise<void>): HarnessedQueue {
  return {
    facts: { system: 'fake', version: '0', schemaVersion: null, eventTables: [], extensions: [] },
    insert,
    work: async () => undefined,
    depth: async () => 0,
    stop: async () => undefined,
  };
}
