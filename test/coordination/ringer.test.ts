import { expect, test } from 'vitest';
import type { RingRequest } from '../../lib/coordination/ring.js';
import { Ringer } from '../../lib/coordination/ringer.js';
import { holdTimers } from '../support/held-timers.js';

test('with a pause the first ring goes at once, and those that come within it are one', async () => {
  const timers = holdTimers((ms) => ms === 1);
  const sent: RingRequest[] = [];
  const ringer = new Ringer(async (ring) => void sent.push(ring), 1);
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  for (const highest of [10, 30, 20]) {
    ringer.ring({ dueMs: 0, highest });
    await turn();
  }
  expect(sent).toEqual([expect.objectContaining({ highest: 10 })]);
  timers.ringFirst();
  await turn();
  expect(sent.slice(1)).toEqual([expect.objectContaining({ highest: 30 })]);
  timers.ringFirst();
  await ringer.settled();
  expect([sent.length, ringer.idle]).toEqual([2, true]);
});
