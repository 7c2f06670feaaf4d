import { expect, test } from 'vitest';
import { DeadTaskHandler, TaskHandler } from '../../lib/index.js';
import { countStatuses } from '../support/statuses.js';
import { deferred, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

test('handlers of a lane run no more at once than it has slots, and leave the others to those beside it', async () => {
  const end = deferred();
  let [running, most] = [0, 0];
  const long = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await end.promise;
    running -= 1;
  };
  class Handlers {
    @TaskHandler('report', { lane: 'long' })
    report(): Promise<void> {
      return long();
    }
    @TaskHandler('import', { lane: 'long' })
    import(): Promise<void> {
      return long();
    }
    @TaskHandler('mail')
    mail(): void {}
  }
  const { queue } = await bench.start({ handlers: [Handlers], concurrency: 4, lanes: { long: 2 } });
  const topics = ['report', 'import', 'report', 'import', 'report', 'import'];
  await queue.insertTasks(topics.map((topic) => ({ topic })));
  await until(async () => running === 2, 'the lane is full');
  await queue.insertTasks(Array.from({ length: 20 }, () => ({ topic: 'mail' })));
  await until(async () => (await countStatuses(bench.pool))['sucesso'] === 20, 'those beside it have ended');
  // None is held in advance.
  expect(await countStatuses(bench.pool)).toEqual({ sucesso: 20, processando: 2, pendente: 4 });
  end.resolve();
  await until(async () => (await countStatuses(bench.pool))['sucesso'] === 26, 'all have ended');
  expect(most).toBe(2);
});

test('a lane that the queue does not have is refused, as is one beside another limit', async () => {
  class Handlers {
    @TaskHandler('one', { lane: 'fast', concurrency: 1 })
    one(): void {}
  }
  await expect(bench.start({ handlers: [Handlers], lanes: { long: 2 } })).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringMatching(
      /Handlers\.one[^]*unknown lane "?fast"?: the lanes of the queue are 'long'[^]*give concurrency or lane, not both/,
    ) as unknown,
  });
});

test('a handler and that of its dead tasks have one lane', async () => {
  class Handlers {
    @TaskHandler('one', { lane: 'long' })
    one(): void {}
    @DeadTaskHandler('one')
    dead(): void {}
  }
  await expect(bench.start({ handlers: [Handlers], lanes: { long: 2 } })).rejects.toMatchObject({
    code: 'HANDLER_INVALID',
    message: expect.stringContaining('differ in lane: they share one limit') as unknown,
  });
});

test.each([
  [{ long: 0 }, 'lanes.long must be a whole number from 1 to 10000, not 0'],
  [7, 'lanes must be an object of numbers by name'],
])('lanes: %o is refused', async (lanes, message) => {
  await expect(bench.start({ lanes: lanes as never })).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringContaining(message) as unknown,
  });
});
