import { expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { startProxy } from '../support/database-proxy.js';
import { deferred, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';
import { onPostgres, testOnPostgres } from '../support/run-database.js';

const bench = useQueue();

class Counting {
  static runs = new Map<number, number>();

  @TaskHandler()
  async count({ n }: { n: number }): Promise<void> {
    Counting.runs.set(n, (Counting.runs.get(n) ?? 0) + 1);
    if (n % 3 === 0) await Promise.resolve();
    if (n % 50 === 0) throw new Error('every fiftieth');
  }
}

/** Connections have names on PostgreSQL only. */
async function claimingConnections(): Promise<number | undefined> {
  if (!onPostgres) return undefined;
  const { rows } = await bench.pool.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and application_name like 'tarefa tasks control%'`,
  );
  return rows[0]?.n ?? 0;
}

test.each([
  { concurrency: 10, connections: 1 },
  { concurrency: 200, connections: 2 },
])(
  'with $concurrency slots tasks are claimed over $connections connections, each once',
  async ({ concurrency, connections }) => {
    Counting.runs.clear();
    const count = 3_000;
    const { queue, worker } = await bench.start({
      handlers: [Counting],
      concurrency,
      autoStart: false,
      maxAttempts: 1,
      recovery: false,
    });
    await queue.insertTasks(
      Array.from({ length: count }, (_, n) => ({ topic: `t${n % 3}`, payload: { n }, priority: n % 2 })),
    );
    await worker.start();
    await until(async () => Counting.runs.size === count, 'all to run');
    await worker.stop();
    expect(new Set(Counting.runs.values())).toEqual(new Set([1]));
    const { rows } = await bench.pool.query<{ status: string; n: number }>(
      `select status, count(*)::int as n from tasks where not dead and reserva = 1 group by status order by status`,
    );
    expect(rows).toEqual([
      { status: 'falha', n: 60 },
      { status: 'sucesso', n: count - 60 },
    ]);
    expect(await claimingConnections()).toBe(onPostgres ? connections : undefined);
  },
);

testOnPostgres(
  'while the second connection cannot be opened, no slot waits for it: the first one fills them all',
  async () => {
    const slots = 200;
    const full = deferred();
    let running = 0;
    class Meeting {
      @TaskHandler('meet')
      async meet(): Promise<void> {
        running += 1;
        if (running === slots) full.resolve();
        await full.promise;
      }
    }
    const proxy = await startProxy(bench.database);
    const stalled = proxy.stall('control 2');
    const { queue, worker, close } = await bench.start({
      // Longer than this test may take.
      connection: { connectionString: proxy.url, connectionTimeoutMillis: 60_000 },
      handlers: [Meeting],
      concurrency: slots,
      autoStart: false,
      recovery: false,
    });
    await queue.insertTasks(Array.from({ length: slots }, () => ({ topic: 'meet' })));
    await worker.start();
    await full.promise;
    await until(async () => {
      const { rowCount } = await bench.pool.query(`select from tasks where status = 'sucesso'`);
      return rowCount === slots;
    }, 'all outcomes to be written');
    await stalled.hit;
    expect(running).toBe(slots);
    stalled.lift();
    await close();
    await proxy.close();
  },
);
