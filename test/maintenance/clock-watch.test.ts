import { expect, test } from 'vitest';
import { QueueEvents } from '../../lib/events.js';
import { ClockWatch } from '../../lib/maintenance/clock-watch.js';

/** What is said of looks, each at a time of this process and of the database, in seconds. */
function saidOf(...looks: readonly (readonly [here: number, there: number])[]): readonly string[] {
  const said: string[] = [];
  const events = new QueueEvents();
  events.on('warning', ({ message }) => said.push(message));
  let now = 0;
  const watch = new ClockWatch(events, () => now * 1_000);
  for (const [here, there] of looks) {
    now = here;
    watch.learn(there * 1_000);
  }
  return said;
}

test('a clock that was set back is told once, and by how much', () => {
  expect(saidOf([0, 10_000], [5, 10_005], [10, 2_810], [15, 2_815])).toEqual([
    expect.stringContaining('was set back by 7200 s'),
  ]);
});

test('a clock that is corrected, set forward or read late is not told', () => {
  expect(saidOf([0, 10_000], [5, 10_004], [10, 17_210], [70, 17_230])).toEqual([]);
});
