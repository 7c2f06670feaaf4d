import { beforeAll, expect, test } from 'vitest';
import { createEffectTable, forkWorker } from '../support/worker-process.js';
import { until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';
import { testOnPostgres } from '../support/run-database.js';

const bench = useQueue();

beforeAll(() => createEffectTable(bench));

/** Starts worker processes that are ready for work. */
async function startWorkers(count: number) {
  const workers = Array.from({ length: count }, () => forkWorker(bench.database));
  await Promise.all(workers.map((worker) => worker.message('ready')));
  return workers;
}

test('five worker processes execute 1,000 tasks exactly once each', { timeout: 90_000 }, async () => {
  const { queue } = await bench.start({ worker: false });
  const workers = await startWorkers(5);
  const ids: string[] = [];
  // One statement at a time and several at once: workers come in the middle of it.
  for (let batch = 0; batch < 10; batch += 1) {
    ids.push(
      ...(await queue.insertTasks(Array.from({ length: 100 }, () => ({ topic: 'effect', payload: {} })))),
    );
  }
  await until(
    async () => {
      const { rows } = await bench.pool.query(`select from tasks where status <> 'sucesso' limit 1`);
      return rows.length === 0;
    },
    'all tasks to succeed',
    60_000,
  );
  for (const worker of workers) worker.send('close');
  expect(await Promise.all(workers.map((worker) => worker.exit))).toEqual(
    workers.map(() => ({ code: 0, signal: null })),
  );

  const { rows } = await bench.pool.query(
    `select (select count(*)::int from effect) as effects, (select count(distinct task_root)::int from effect) as tasks,
       (select count(*)::int from tasks) as attempts, (select max(reserva) from tasks) as claims,
       (select count(distinct executor)::int from tasks) as workers`,
  );
  expect(rows[0]).toMatchObject({
    effects: ids.length,
    tasks: ids.length,
    attempts: ids.length,
    claims: 1,
  });
  // Were one worker faster than the others could start, this test would show nothing.
  expect(rows[0].workers).toBeGreaterThan(1);
});

testOnPostgres(
  'the effect of a worker killed before the commit is not there, and its task still processando',
  async () => {
    const { queue } = await bench.start({ worker: false });
    const [worker] = await startWorkers(1);
    const id = await queue.insertTask({ topic: 'leave and hold', payload: {} });
    await worker?.message('left');
    await worker?.kill('SIGKILL');
    // The server notices the end of its client; then nothing of the transaction is left.
    await until(async () => {
      const { rows } = await bench.pool.query(
        `select from pg_stat_activity where datname = current_database() and application_name like 'tarefa tasks%'
         and pid <> pg_backend_pid() and state <> 'idle' limit 1`,
      );
      return rows.length === 0;
    }, 'the end of the transaction');
    const { rows } = await bench.pool.query('select from effect where task_root = $1', [id]);
    expect(rows).toEqual([]);
    expect(await bench.chain(id)).toMatchObject([{ status: 'processando', tentativa: 1, reserva: 1 }]);
  },
);
