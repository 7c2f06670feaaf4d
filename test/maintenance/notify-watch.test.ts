import { expect, test } from 'vitest';
import { QueueEvents } from '../../lib/events.js';
import { NotifyWatch } from '../../lib/maintenance/notify-watch.js';

test('a queue of notifications that is half full is told of, now and again', () => {
  const said: string[] = [];
  const events = new QueueEvents();
  events.on('warning', ({ message }) => said.push(message));
  let now = 0;
  const watch = new NotifyWatch(events, () => now);
  for (const usage of [undefined, 0, 0.49, 0.5, 0.9]) watch.learn(usage);
  expect(said).toEqual([expect.stringContaining('is 50% full')]);
  now += 600_000;
  watch.learn(0.9);
  expect(said).toEqual([expect.stringContaining('50%'), expect.stringContaining('90%')]);
});
