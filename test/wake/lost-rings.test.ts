import { afterEach, expect, test, vi } from 'vitest';
import { WalkPace } from '../../lib/coordination/walk-pace.js';
import { TaskHandler } from '../../lib/index.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

afterEach(() => vi.restoreAllMocks());

class Handlers {
  @TaskHandler('a')
  handle(): void {}
}

test('what nobody rang for is found at the next poll, however rare sweeps are, and beside other work', async () => {
  // As if a sweep took so long that the next one is far off.
  vi.spyOn(WalkPace.prototype, 'dueInMs', 'get').mockReturnValue(3_600_000);
  const { queue, events } = await bench.start({ handlers: [Handlers], pollIntervalMs: 200 });
  const first = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'a' });
  await first;
  const found = nextEvent(events, 'task.completed', ({ task }) => task.topic === 'a');
  await bench.pool.query(
    `begin; set local tarefa.quiet = 'on';
     insert into tasks (processo, data_hora) values ('a', now() - interval '1 hour'); commit`,
  );
  expect((await found).task.topic).toBe('a');
});
