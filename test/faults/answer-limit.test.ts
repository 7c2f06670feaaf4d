import type { Client } from 'pg';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { withAnswerLimit } from '../../lib/storage/postgres/connections/control-connection.js';
import { deferred } from '../support/waiting.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** What the limit needs of a client; tells what its connection was cut with. */
function fakeClient() {
  const cuts: Error[] = [];
  const destroy = (error: Error): void => void cuts.push(error);
  return { client: { connection: { stream: { destroy } } } as unknown as Client, cuts };
}

test('a connection whose answer does not come is cut, and the error says why', async () => {
  const { client, cuts } = fakeClient();
  void withAnswerLimit(client, new Promise(() => undefined));
  await vi.advanceTimersByTimeAsync(34_900);
  expect(cuts).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect(cuts.map(({ message }) => message)).toEqual([expect.stringMatching(/^Connection terminated.*35 s/)]);
});

test('an answer that waits to be read when the process was paused for an hour is in time', async () => {
  const { client, cuts } = fakeClient();
  const answer = deferred<string>();
  const limited = withAnswerLimit(client, answer.promise);
  // After a pause the timers that are due run once, and then what has arrived is read.
  vi.setSystemTime(Date.now() + 3_600_000);
  await vi.advanceTimersToNextTimerAsync();
  answer.resolve('in time');
  expect(await limited).toBe('in time');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(cuts).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
