import { expect, test } from 'vitest';
import { endsChannel, waitsChannel } from '../../lib/coordination/postgres/postgres-bell.js';
import { TaskHandler } from '../../lib/index.js';
import { listen } from '../support/listening.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

class Handlers {
  @TaskHandler('a', { maxAttempts: 1 })
  handle(payload: unknown): void {
    if (payload === 'bad') throw new Error('of the handler');
  }
}

test('a worker tells of the ends that somebody waits for, once, and of no others', async () => {
  const { queue } = await bench.start({ handlers: [Handlers], autoStart: true });
  const { heard, next, close } = await listen(bench.database, endsChannel('public.tasks'));
  const say = (text: string): Promise<unknown> =>
    bench.pool.query('select pg_notify($1, $2)', [waitsChannel('public.tasks'), text]);
  await bench.ended(await queue.insertTask({ topic: 'a' }));
  expect(await heard()).toEqual([]);
  // Ids are known before, because they are counted.
  const first = BigInt(await queue.insertTask({ topic: 'a' }));
  await say('nonsense');
  await say(`${first + 1n} 60000`);
  await say(`${first + 3n} 60000`);
  await queue.insertTask({ topic: 'a', payload: 'bad' });
  expect(await next()).toBe(String(first + 1n));
  await bench.endedChain(String(first + 1n), 2);
  await queue.insertTask({ topic: 'a' });
  expect(await next()).toBe(String(first + 3n));
  await bench.ended(await queue.insertTask({ topic: 'a' }));
  expect(await heard()).toEqual([]);
  await close();
});
