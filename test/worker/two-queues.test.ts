import { expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';
import { onPostgres } from '../support/run-database.js';
import { lockIsWaitedFor } from '../support/locks.js';

const bench = useQueue();

/** Handles everything, and ends only when as many others run as it was told. */
function meeting(size: number) {
  const running = new Set<string>();
  class Meeting {
    @TaskHandler()
    async meet(queue: string, { task }: TaskContext): Promise<void> {
      running.add(`${queue} ${task.id}`);
      await until(async () => running.size >= size, `${size} tasks to run at once`);
    }
  }
  return { running, Meeting };
}

test('tasks with equal ids of two queues, and ids 1 to 3, run beside each other and the routines', async () => {
  const { running, Meeting } = meeting(8);
  const options = { handlers: [Meeting], autoStart: false, recovery: { graceMs: 0, confirmMs: 50 } };
  const queues = {
    tasks: await bench.start(options),
    other: await bench.start({ ...options, queue: 'other' }),
  };
  for (const [name, { queue }] of Object.entries(queues)) {
    await bench.pool.query(`alter sequence ${name}_id_seq restart with 1`);
    const ids = await queue.insertTasks(Array.from({ length: 4 }, () => ({ topic: 'any', payload: name })));
    expect(ids).toEqual(['1', '2', '3', '4']);
  }
  // What a worker of nsj-queue-lib locks: task ids as they are, and 1 to 3 for the routines.
  const old = await bench.connect();
  if (onPostgres) await old.query('select pg_advisory_lock(g) from generate_series(1, 4) g');

  const { tasks, other } = queues;
  await Promise.all([tasks.worker.start(), other.worker.start()]);
  // All eight must run at once, or none of them ends.
  await bench.ended('4');
  expect(running.size).toBe(8);
  expect(await Promise.all([tasks.retry.run(), other.retry.run()])).toEqual([0, 0]);
  expect(await Promise.all([tasks.notify.run(), other.notify.run()])).toEqual([0, 0]);
  expect(await Promise.all([tasks.purge.run(), other.purge.run()])).toEqual([0, 0]);
  for (const name of Object.keys(queues)) {
    await until(async () => {
      const { rows } = await bench.pool.query(
        `select id from ${name} where status = 'sucesso' and reserva = 1`,
      );
      return rows.length === 4;
    }, `the tasks of ${name} to succeed`);
  }
});

test('a routine of one queue is not kept out by the same routine of another', async () => {
  const first = await bench.start();
  const second = await bench.start({ queue: 'other' });
  // The first queue's purge waits here, in the middle of its round.
  const lock = await bench.connect();
  await lock.query('begin; lock table tasks in access exclusive mode');
  const waiting = first.purge.run();
  await lockIsWaitedFor(bench.pool, 'tasks');
  expect(await second.purge.run()).toBe(0);
  expect(await first.purge.run()).toBeUndefined();
  await lock.query('rollback');
  expect(await waiting).toBe(0);
});
