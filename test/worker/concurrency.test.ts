import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { beforeEach, expect, test } from 'vitest';
import { Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import type { QueueAppOptions } from '../support/queue-app.js';
import { deferred, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';
import { countStatuses } from '../support/statuses.js';
import { onPostgres } from '../support/run-database.js';

const bench = useQueue();

/** Statement of the trigger. */
const noteHeld = `insert into most_held
  select executor, count(*) from tasks where status = 'processando' group by executor`;

/** Has the table note the most attempts that a worker ever held at the end of a statement. */
async function watchHeld() {
  // The table first: a worker's statement that fires the trigger may wait for the other one.
  // On MySQL only rows have triggers: they count in the middle of a statement as well, and never more than at its end.
  await bench.pool.query(
    onPostgres
      ? `lock table tasks in access exclusive mode;
         create table if not exists most_held (executor bigint, held integer);
         truncate most_held;
         create or replace function note_held() returns trigger language plpgsql as $$ begin
           ${noteHeld};
           return null; end $$;
         drop trigger if exists note_held on tasks;
         create trigger note_held after update on tasks for each statement execute function note_held()`
      : `create table if not exists most_held (executor bigint, held integer);
         truncate most_held;
         drop trigger if exists note_held;
         create trigger note_held after update on tasks for each row ${noteHeld}`,
  );
  return async (): Promise<number> => {
    const { rows } = await bench.pool.query<{ most: number }>('select max(held) as most from most_held');
    return rows[0]?.most ?? 0;
  };
}

let running = 0;
let most = 0;
beforeEach(() => {
  running = 0;
  most = 0;
});

async function busy(work: () => Promise<unknown>): Promise<void> {
  running += 1;
  most = Math.max(most, running);
  try {
    await work();
  } finally {
    running -= 1;
  }
}

async function startHolding(options: QueueAppOptions) {
  const end = deferred();
  class Holding {
    @TaskHandler('hold')
    hold(): Promise<void> {
      return busy(() => end.promise);
    }
    @TaskHandler('limited', { concurrency: 2 })
    limited(): Promise<void> {
      return busy(() => end.promise);
    }
    @TaskHandler({ concurrency: 3 })
    any(): Promise<void> {
      return busy(() => end.promise);
    }
  }
  const app = await bench.start({ handlers: [Holding], ...options });
  const mostHeld = await watchHeld();
  return { ...app, end, mostHeld };
}

test.each([1, 3, 10])('a worker of concurrency %i holds no more while 50 wait', async (concurrency) => {
  const { queue, worker, end, mostHeld } = await startHolding({ concurrency });
  await queue.insertTasks(Array.from({ length: 50 }, () => ({ topic: 'hold' })));
  await until(async () => running >= concurrency, 'the slots to fill');
  // This rings: a full worker must not claim.
  await queue.insertTask({ topic: 'hold' });
  expect(await countStatuses(bench.pool)).toEqual({ processando: concurrency, pendente: 51 - concurrency });
  expect(worker.running).toBe(concurrency);
  end.resolve();
  await until(async () => (await countStatuses(bench.pool))['sucesso'] === 51, 'all to succeed');
  expect(await mostHeld()).toBe(concurrency);
  expect(most).toBe(concurrency);
});

test('nor while tasks end, well and badly, at any moment', async () => {
  class Restless {
    @TaskHandler('batch', { maxAttempts: 1 })
    batch(payload: { fail: boolean; ms: number }): Promise<void> {
      return busy(() => end(payload));
    }
    @TaskHandler('transaction', { maxAttempts: 1 })
    transaction(payload: { fail: boolean; ms: number }, { db }: TaskContext): Promise<void> {
      return busy(async () => {
        await db.query('select 1');
        await end(payload);
      });
    }
  }
  const end = async ({ fail, ms }: { fail: boolean; ms: number }): Promise<void> => {
    if (ms > 0) await pause(ms);
    if (fail) throw new Error('boom');
  };
  const { queue, worker } = await bench.start({ handlers: [Restless], concurrency: 5, autoStart: false });
  const mostHeld = await watchHeld();
  await queue.insertTasks(
    Array.from({ length: 400 }, (_, n) => ({
      topic: n % 3 === 0 ? 'transaction' : 'batch',
      payload: { fail: n % 2 === 0, ms: n % 7 },
    })),
  );
  await worker.start();
  await until(async () => {
    const now = await countStatuses(bench.pool);
    return !now['pendente'] && !now['processando'];
  }, 'all to end');
  expect(await mostHeld()).toBe(5);
  expect(most).toBe(5);
});

test('a handler at its own limit leaves the other slots to others', async () => {
  const { queue, end } = await startHolding({ concurrency: 10 });
  await queue.insertTasks(Array.from({ length: 20 }, () => ({ topic: 'limited', priority: 90 })));
  await until(async () => running >= 2, 'the limit to be reached');
  await queue.insertTasks(Array.from({ length: 20 }, () => ({ topic: 'hold' })));
  await until(async () => running >= 10, 'the other slots to fill');
  const { rows } = await bench.pool.query(
    `select processo, count(*)::int as n from tasks where status = 'processando' group by 1 order by 1`,
  );
  expect(rows).toEqual([
    { processo: 'hold', n: 8 },
    { processo: 'limited', n: 2 },
  ]);
  end.resolve();
  await until(async () => (await countStatuses(bench.pool))['sucesso'] === 40, 'all to succeed');
});

test.each(['succeeds', 'fails'])(
  'a handler at its own limit goes on when one of its tasks %s',
  async (how) => {
    const ends = Array.from({ length: 6 }, () => deferred());
    class Limited {
      @TaskHandler('limited', { concurrency: 2, maxAttempts: 1 })
      limited(n: string, { db }: TaskContext): Promise<void> {
        return busy(async () => {
          await db.query('select 1');
          await ends[Number(n)]?.promise;
        });
      }
    }
    const options = { wake: 'poll', pollIntervalMs: 600_000 } as const;
    const { queue, worker } = await bench.start({ handlers: [Limited], autoStart: false, ...options });
    await queue.insertTasks(ends.map((_, n) => ({ topic: 'limited', payload: String(n) })));
    await worker.start();
    for (const [n, end] of ends.entries()) {
      await until(async () => worker.running === Math.min(2, 6 - n), 'the limit to be reached');
      // By now the worker has looked again for the last time by itself.
      await pause(n === 0 ? 700 : 0);
      if (how === 'succeeds') end.resolve();
      else end.reject(new Error('boom'));
      await until(
        async () => (await countStatuses(bench.pool))[how === 'succeeds' ? 'sucesso' : 'falha'] === n + 1,
        'it to end',
      );
    }
    expect(most).toBe(2);
  },
);

test('a handler without topic has one limit for all of its topics', async () => {
  const { queue, end } = await startHolding({ concurrency: 10 });
  await queue.insertTasks(Array.from({ length: 30 }, (_, n) => ({ topic: `topic ${n % 6}` })));
  await until(async () => running >= 3, 'the limit to be reached');
  await queue.insertTasks(Array.from({ length: 4 }, () => ({ topic: 'hold' })));
  await until(async () => running >= 7, 'the other slots to be used');
  expect(await countStatuses(bench.pool)).toEqual({ processando: 7, pendente: 27 });
  end.resolve();
  await until(async () => (await countStatuses(bench.pool))['sucesso'] === 34, 'all to succeed');
});

test('the limit of a subscriber counts for its deliveries, and publications are not held up by them', async () => {
  const end = deferred();
  class Subscribers {
    @Subscriber('s', { concurrency: 1 })
    deliver(): Promise<void> {
      return busy(() => end.promise);
    }
  }
  const { queue } = await bench.start({ handlers: [Subscribers], concurrency: 4 });
  const mostHeld = await watchHeld();
  await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('s', 'published')`);
  for (let n = 0; n < 6; n += 1) await queue.insertTaskPubSub({ topic: 'published' });
  const isSo = { sucesso: 6, processando: 1, pendente: 5 };
  let counts: unknown;
  let failed: unknown;
  await until(
    async () => {
      counts = await countStatuses(bench.pool);
      failed = (await bench.pool.query(`select mensagem from tasks where status = 'falha'`)).rows;
      return isDeepStrictEqual(counts, isSo);
    },
    () =>
      `all to be published, and one delivery to run, of which ${running} run: ${JSON.stringify({ counts, failed })}`,
  );
  end.resolve();
  await until(async () => (await countStatuses(bench.pool))['sucesso'] === 12, 'all to be delivered');
  expect(await mostHeld()).toBeLessThanOrEqual(4);
  expect(most).toBe(1);
});

test('two workers hold as many as both may', async () => {
  const first = await startHolding({ concurrency: 2 });
  const second = await startHolding({ concurrency: 3 });
  await first.queue.insertTasks(Array.from({ length: 9 }, () => ({ topic: 'hold' })));
  await until(async () => (await countStatuses(bench.pool))['processando'] === 5, 'all slots to fill');
  // The table knows of a claim before the worker has its answer.
  await until(async () => first.worker.running + second.worker.running === 5, 'the workers to know');
  expect([first.worker.running, second.worker.running]).toEqual([2, 3]);
  first.end.resolve();
  second.end.resolve();
  await until(async () => (await countStatuses(bench.pool))['sucesso'] === 9, 'all to succeed');
});
