import { expect, test, vi } from 'vitest';
import { livenessPrefix } from '../../lib/coordination/lock-names.js';
import { TaskHandler, type QueueModuleOptions, type TaskContext } from '../../lib/index.js';
import { lockName } from '../../lib/storage/mysql/lock-name.js';
import { coreOf, type QueueApp } from '../support/queue-app.js';
import { onPostgres, ownSql, unlessTold } from '../support/run-database.js';
import { nextEvent, until } from '../support/waiting.js';
import { withClient } from '../support/with-client.js';
import { useRecoveryBench, type ChildWorker } from './recovery-bench.js';

const eager = { intervalMs: 50, confirmMs: 50, graceMs: 0 };
/** Nothing happens by itself: what is recovered, a routine recovered. */
const passive = { recovery: { ...eager, intervalMs: 3_600_000 }, scheduledTimer: false, pollIntervalMs: 0 };

const bench = useRecoveryBench();

class HoldHandlers {
  @TaskHandler('hold')
  async hold(_: unknown, { db, task }: TaskContext): Promise<string> {
    await db.query(ownSql('insert into effect values ($1, $2)'), [task.firstAttemptId, task.attempt]);
    return 'done by the survivor';
  }
}

function startSurvivor(options: QueueModuleOptions): Promise<QueueApp> {
  return bench.start({ handlers: [HoldHandlers], ...options });
}

interface Holder {
  readonly child: ChildWorker;
  readonly workerId: string;
  /** The attempt that it holds. */
  readonly id: string;
}

/**
 * A worker in another process that has started a task; `columns` are those of its row, which has lost so many workers: an
 * insert by hand would be filed with none.
 */
async function startHolder(columns: Readonly<Record<string, unknown>> = {}, losses = 0): Promise<Holder> {
  const child = await bench.startChild({ recovery: false, pollIntervalMs: unlessTold });
  const row = { processo: 'hold', payload: '{}', ...columns };
  const names = Object.keys(row);
  const id = await withClient(bench.database, async (client) => {
    await client.query('begin');
    const { rows } = await client.query<{ id: string }>(
      `insert into tasks (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')}) returning id`,
      Object.values(row),
    );
    await client.query('update tasks set perdas = $2 where id = $1', [rows[0]?.id, losses]);
    // The insert names the route that it had: one that has lost so many goes another way.
    if (onPostgres) await client.query('notify tasks');
    await client.query('commit');
    return rows[0]?.id ?? '';
  });
  await child.message('started');
  return { child, workerId: child.workerId, id };
}

async function killHolder(columns?: Readonly<Record<string, unknown>>, losses?: number): Promise<Holder> {
  const holder = await startHolder(columns, losses);
  await holder.child.kill('SIGKILL');
  return holder;
}

async function attempts(): Promise<Record<string, unknown>[]> {
  const { rows } = await bench.database.pool.query<Record<string, unknown>>(
    'select * from tasks order by id',
  );
  return rows;
}

test('the task of a killed process is tried again at once, by another worker', async () => {
  const { id, workerId } = await killHolder();
  expect(await attempts()).toMatchObject([{ status: 'processando', executor: workerId }]);

  const survivor = await startSurvivor({ recovery: eager, pollIntervalMs: 0 });
  const { task } = await nextEvent(survivor.events, 'task.completed');
  expect(task).toMatchObject({ firstAttemptId: id, attempt: 2 });
  expect(await attempts()).toMatchObject([
    {
      tentativa: 1,
      status: 'falha',
      reenfileirado: true,
      estouro_tentativas: false,
      mensagem: expect.stringMatching(/^worker \d+ was lost.*aborted.*will be tried again/) as unknown,
      erro: expect.stringContaining('lost') as unknown,
      executor: workerId,
      perdas: 0,
    },
    { tentativa: 2, status: 'sucesso', mensagem: 'done by the survivor', id_inicial: id, perdas: 1 },
  ]);
  // The default pause between attempts, five minutes, is not for lost workers.
  const { rows } = await bench.database.pool.query(
    `select proxima_tentativa < finalizada_em + interval '1 second' as at_once from tasks where tentativa = 1`,
  );
  expect(rows).toEqual([{ at_once: true }]);
  // What the killed process had not committed is not there.
  expect((await bench.database.pool.query('select attempt from effect')).rows).toEqual([{ attempt: 2 }]);
  const worker = await bench.database.pool.query('select stopped_at from tasks_worker where id = $1', [
    workerId,
  ]);
  expect(worker.rows).toEqual([{ stopped_at: expect.any(Date) as unknown }]);
});

test('the retry routine does the same by itself', async () => {
  const { id, workerId } = await killHolder();
  const survivor = await startSurvivor(passive);
  const recovered = nextEvent(survivor.events, 'task.recovered');
  expect(await survivor.retry.run()).toBe(1);
  expect(await recovered).toMatchObject({ task: { id, attempt: 1 }, workerId });
  expect(await attempts()).toMatchObject([
    { tentativa: 1, status: 'falha', mensagem: expect.stringContaining('aborted') as unknown },
    { tentativa: 2, status: 'agendada', perdas: 1 },
  ]);
  expect(await survivor.retry.run()).toBe(0);

  // The timer is off as well, so the next attempt is the notify routine's business.
  const completed = nextEvent(survivor.events, 'task.completed');
  expect(await survivor.notify.run()).toBe(1);
  expect((await completed).task).toMatchObject({ firstAttemptId: id, attempt: 2 });
});

test('with recovery: false only the retry routine recovers, as carefully as ever', async () => {
  const { id } = await killHolder();
  const survivor = await startSurvivor({ recovery: false, scheduledTimer: false, pollIntervalMs: 0 });
  const began = performance.now();
  const run = survivor.retry.run();
  expect(await attempts()).toMatchObject([{ id, status: 'processando' }]);
  await run;
  // The server of the tests may have started less than ten seconds ago: then it is too early to tell.
  await until(
    async () => (await attempts()).length === 2 || (await survivor.retry.run()) === 1,
    'the retry routine recovers the task',
  );
  expect(performance.now() - began).toBeGreaterThan(4_900);
  expect(await attempts()).toMatchObject([
    { tentativa: 1, status: 'falha' },
    { tentativa: 2, status: 'agendada' },
  ]);
}, 60_000);

test('nobody is called lost before it was missed for as long as confirmMs says', async () => {
  await killHolder();
  const began = performance.now();
  const survivor = await startSurvivor({ recovery: { intervalMs: 20, confirmMs: 1_000, graceMs: 0 } });
  await nextEvent(survivor.events, 'task.recovered');
  expect(performance.now() - began).toBeGreaterThan(1_000);
});

test('nobody is called lost by a worker that was lost itself a moment ago', async () => {
  const holder = await startHolder();
  const survivor = await startSurvivor({ recovery: { intervalMs: 20, confirmMs: 0, graceMs: 1_500 } });
  const restored = nextEvent(survivor.events, 'connection.restored');
  await cutSession(survivor);
  await restored;
  const began = performance.now();
  const recovered = nextEvent(survivor.events, 'task.recovered');
  await holder.child.kill('SIGKILL');
  await recovered;
  expect(performance.now() - began).toBeGreaterThan(1_500);
});

test('a looker whose connection is cut again and again still finds who is lost', async () => {
  const holder = await startHolder();
  const survivor = await startSurvivor({ recovery: { intervalMs: 20, confirmMs: 1_000, graceMs: 500 } });
  const findMissing = vi.spyOn(coreOf(survivor.app).database.workers, 'findMissing');
  await holder.child.kill('SIGKILL');
  let recovered: string | undefined;
  survivor.events.on('task.recovered', ({ workerId }) => (recovered = workerId));
  /** A look that could tell who is missing: before the connection is up for long enough nobody is asked. */
  const hasLooked = async (): Promise<boolean> => {
    const answers = await Promise.all(findMissing.mock.results.map(({ value }) => value as Promise<unknown>));
    return answers.some((answer) => answer !== undefined);
  };
  await until(
    async () => {
      const restored = nextEvent(survivor.events, 'connection.restored');
      await cutSession(survivor);
      await restored;
      // Between two cuts it looks once or a few times: less than it needs to be sure.
      findMissing.mockClear();
      await until(hasLooked, 'it looks');
      return recovered;
    },
    'the task is recovered',
    20_000,
  );
  expect(recovered).toBe(holder.workerId);
});

test('what one looker missed counts for the next one: it may be lost as well', async () => {
  const { id, workerId } = await killHolder();
  const first = await startSurvivor({
    ...passive,
    recovery: { ...eager, confirmMs: 3_600_000, intervalMs: 20 },
  });
  const missed = async (): Promise<boolean> => {
    const { rows } = await bench.database.pool.query<{ missed: boolean }>(
      'select missed_at is not null as missed from tasks_worker where id = $1',
      [workerId],
    );
    return rows[0]?.missed === true;
  };
  await until(missed, 'somebody is missed');
  await first.close();
  await bench.database.pool.query(`update tasks_worker set missed_at = missed_at - interval '1 hour'`);
  const second = await startSurvivor({ ...passive, recovery: { ...passive.recovery, confirmMs: 1_800_000 } });
  expect(await second.retry.run()).toBe(1);
  expect(await attempts()).toMatchObject([{ id, status: 'falha' }, { tentativa: 2 }]);
});

test('a worker that was missing and is back is forgotten to have been missing', async () => {
  const { id, workerId } = await startHolder();
  await bench.database.pool.query(
    `update tasks_worker set missed_at = clock_timestamp() - interval '1 hour' where id = $1`,
    [workerId],
  );
  const survivor = await startSurvivor(passive);
  expect(await survivor.retry.run()).toBe(0);
  expect(await attempts()).toMatchObject([{ id, status: 'processando' }]);
  const { rows } = await bench.database.pool.query('select missed_at from tasks_worker where id = $1', [
    workerId,
  ]);
  expect(rows).toEqual([{ missed_at: null }]);
});

/** Ends the session that shows that a worker lives. */
async function cutSession({ worker }: QueueApp): Promise<void> {
  const { pool } = bench.database;
  if (onPostgres) {
    await pool.query(
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'
         and database = (select oid from pg_database where datname = current_database())
         and ((classid::bigint << 32) | objid::bigint) = hashtextextended('tarefa:worker:public.tasks:' || $1, 0)`,
      [worker.id],
    );
    return;
  }
  const table = `${new URL(bench.database.url).pathname.slice(1)}.tasks`;
  const { rows } = await pool.query<{ id: string }>('select is_used_lock($1) as id', [
    lockName(livenessPrefix(table) + worker.id),
  ]);
  await pool.query(`kill ${Number(rows[0]?.id)}`);
}

test('no routine touches a task while its worker lives, however old it is', async () => {
  const { child, id } = await startHolder({ data_hora: new Date(Date.now() - 365 * 86_400_000) });
  const survivor = await startSurvivor({ ...passive, purgeMaxAgeDays: 1, waitNotifyIntervalSeconds: 1 });
  for (let round = 0; round < 5; round += 1) {
    expect(await survivor.retry.run()).toBe(0);
    expect(await survivor.notify.run()).toBe(0);
    expect(await survivor.purge.run()).toBe(0);
  }
  expect(await attempts()).toMatchObject([{ id, status: 'processando', reserva: 1 }]);
  child.send('release');
  await until(async () => (await attempts())[0]?.['status'] === 'sucesso', 'the holder ends its task');
  expect(await attempts()).toMatchObject([{ tentativa: 1, reserva: 1 }]);
});

test('a task that is lost on its last attempt is buried with the payload of its chain', async () => {
  const first = await bench.database.pool.query<{ id: string }>(
    `insert into tasks (processo, payload, status) values ('hold', '{"note":"é"}', 'falha') returning id`,
  );
  const root = first.rows[0]?.id;
  await killHolder({ id_inicial: root, id_anterior: root, tentativa: 2, payload: null });
  const survivor = await startSurvivor({ ...passive, maxAttempts: 2 });
  await survivor.retry.run();
  const dead = await until(async () => (await attempts()).find((row) => row['dead'] === true), 'a dead row');
  expect(dead).toMatchObject({ live_id: root, tentativa: 1, payload: '{"note":"é"}', id_inicial: null });
  expect((await attempts())[1]).toMatchObject({
    status: 'falha',
    estouro_tentativas: true,
    reenfileirado: false,
    mensagem: expect.stringMatching(/lost.*no attempts left/) as unknown,
  });
});

test('a task whose worker was lost five times in a row is buried, whatever attempts are left', async () => {
  const { id } = await killHolder({ tentativa: 5 }, 4);
  const survivor = await startSurvivor(passive);
  expect(await survivor.retry.run()).toBe(1);
  await until(
    async () => (await attempts()).some((row) => row['dead'] === true && row['live_id'] === id),
    'a dead row',
  );
  expect((await attempts())[0]).toMatchObject({ status: 'falha', estouro_tentativas: true });
});

test('rows without executor belong to other programs and are left alone', async () => {
  await bench.database.pool.query(`insert into tasks (processo, status) values ('hold', 'processando')`);
  const { id } = await killHolder();
  const survivor = await startSurvivor(passive);
  expect(await survivor.retry.run()).toBe(1);
  const [foreign, lost] = await attempts();
  expect(foreign).toMatchObject({ status: 'processando', executor: null });
  expect(lost).toMatchObject({ id, status: 'falha' });
});
