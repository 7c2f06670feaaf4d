import { expect, test } from 'vitest';
import { EndAnnouncer } from '../../lib/coordination/end-announcer.js';
import { QueueEvents } from '../../lib/events.js';

test('of 10,001 tasks that are waited for the first is forgotten: whoever can ring can say that it waits', () => {
  const events = new QueueEvents();
  const rung: string[] = [];
  const ends = new EndAnnouncer(events, {
    ring: async (_topic, message) => void rung.push(message as string),
  });
  for (let id = 0; id <= 10_000; id += 1) ends.expect({ firstAttemptId: String(id), forMs: 60_000 });
  for (const firstAttemptId of ['0', '1', '10000', '10001']) {
    events.emit('task.cancelled', { task: { firstAttemptId } } as never);
  }
  expect(rung).toEqual(['1', '10000']);
});
