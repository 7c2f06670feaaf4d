import { beforeEach, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../../../lib/index.js';
import { useFaults } from '../../../faults/kit/fault-bench.js';
import { allOnce, drained } from '../../../faults/kit/outcome.js';
import { leaveEffect } from '../../../support/leave-effect.js';

const bench = useFaults();
let act: (index: number, ctx: TaskContext) => Promise<void>;
let runs: string[];

beforeEach(() => {
  runs = [];
});

class Handlers {
  @TaskHandler('effect', { grouped: true, retryDelayMs: 20 })
  async effect({ index }: { index: number }, ctx: TaskContext): Promise<void> {
    runs.push(`${index} ${ctx.task.attempt}`);
    await leaveEffect(ctx);
    await act(index, ctx);
  }
}

/** Five tasks, so that they make one group. */
async function insertFive(): Promise<void> {
  await bench.pool.query(
    `insert into tasks (processo, payload) select 'effect', '{"index":' || g || '}' from generate_series(0, 4) g`,
  );
}

async function attempts(): Promise<readonly string[]> {
  const { rows } = await bench.pool.query<{ attempt: string }>(
    `select concat_ws(' ', status, tentativa) as attempt from tasks order by coalesce(id_inicial, id), id`,
  );
  return rows.map(({ attempt }) => attempt);
}

test('a backend that is terminated in the middle: what was open is tried again, what waited goes on', async () => {
  const { events } = await bench.start({ handlers: [Handlers] });
  const failures: string[] = [];
  events.on('task.failed', ({ message }) => failures.push(message));
  act = async (index, { db, task }) => {
    if (index !== 2 || task.attempt > 1) return;
    const { rows } = await db.query('select pg_backend_pid() as pid');
    await bench.pool.query('select pg_terminate_backend($1)', [rows[0]?.['pid']]);
    await leaveEffect({ db, task } as TaskContext);
  };
  await insertFive();
  expect(await drained(bench.pool)).toEqual({ ...allOnce(5) });
  const again = ['falha 1', 'sucesso 2'];
  expect(await attempts()).toEqual([...again, ...again, ...again, 'sucesso 1', 'sucesso 1']);
  expect(failures.filter((message) => message.includes('did not confirm the end'))).toHaveLength(2);
});

test('a COMMIT that the server did and never answered: the tasks are done, once', async () => {
  const { events } = await bench.start({ handlers: [Handlers] });
  const completed: string[] = [];
  events.on('task.completed', ({ task }) => completed.push(task.id));
  act = () => Promise.resolve();
  const fault = bench.proxy.swallow({ purpose: 'pool', message: 'C', tag: 'COMMIT', then: 'cut' });
  await insertFive();
  await fault.hit;
  expect(await drained(bench.pool)).toEqual(allOnce(5));
  expect(await attempts()).toEqual(Array(5).fill('sucesso 1'));
  expect(runs).toEqual(['0 1', '1 1', '2 1', '3 1', '4 1']);
  await expect.poll(() => completed.length).toBe(5);
});

test('a connection that breaks before COMMIT: nothing is kept, all are tried again', async () => {
  await bench.start({ handlers: [Handlers] });
  act = async (index, { task }) => {
    // Behind this answer nothing gets to the server any more.
    if (index === 4 && task.attempt === 1) bench.proxy.reset('pool');
  };
  await insertFive();
  expect(await drained(bench.pool)).toEqual(allOnce(5));
  expect(await attempts()).toEqual(Array(5).fill(['falha 1', 'sucesso 2']).flat());
});
