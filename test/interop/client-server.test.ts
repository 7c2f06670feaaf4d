import { expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { deferred, nextEvent } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { UnseenLocks } from './nsj-locks.js';
import { NsjWorker } from './nsj-worker.js';

const bench = useQueue();
const recovery = { intervalMs: 50, confirmMs: 0, graceMs: 0 };
const interop = { interop: 'nsj', pollIntervalMs: 0, recovery } as const;

class Quick {
  @TaskHandler()
  run(): void {}
}

class Others {
  @TaskHandler('other')
  run(): void {}
}

/** A worker whose locks are in its server, and a task that it runs. */
async function startClient() {
  await (await bench.start({ worker: false })).close();
  const [started, end] = [deferred(), deferred()];
  const handler = async (): Promise<string> => {
    started.resolve();
    await end.promise;
    return 'done';
  };
  const nsj = await NsjWorker.start(bench.database.url, handler, { locks: new UnseenLocks() });
  const run = async (): Promise<string> => {
    const { rows } = await bench.pool.query<{ id: string }>(
      `insert into tasks (processo) values ('slow') returning id`,
    );
    return rows[0]?.id ?? '';
  };
  return { nsj, run, started, end };
}

test('a worker refuses to start while a worker in client-server mode runs a task', async () => {
  const { nsj, run, started, end } = await startClient();
  const id = await run();
  const drained = nsj.drain();
  await started.promise;
  await expect(bench.start({ handlers: [Quick], ...interop })).rejects.toMatchObject({
    code: 'INTEROP_UNSAFE',
    message: expect.stringMatching(new RegExp(`session \\d+ runs task ${id} without its lock`)),
  });
  end.resolve();
  await drained;
  await nsj.stop();
});

test('a worker refuses to start beside the server, which counts what is due', async () => {
  await (await bench.start({ worker: false })).close();
  const server = await bench.connect();
  await server.query(`
            select
                count(*) as qtd
            from
                public.tasks as tarefa
            where
                status = 'pendente'
                and tentativa <= 100
                and data_hora <= clock_timestamp()
            `);
  await expect(bench.start({ handlers: [Quick], ...interop })).rejects.toMatchObject({
    code: 'INTEROP_UNSAFE',
    message: expect.stringMatching(/session \d+ counts due tasks as its server does/),
  });
});

test('a worker that runs leaves the tasks of such a worker alone, and says so', async () => {
  const { nsj, run, started, end } = await startClient();
  const { events } = await bench.start({ handlers: [Others], ...interop, unknownTasks: 'leave' });
  const id = await run();
  const warned = nextEvent(events, 'warning');
  const drained = nsj.drain();
  await started.promise;
  expect((await warned).message).toMatch(/client-server mode \(session \d+ runs task \d+ without its lock\)/);
  expect(await bench.row(id)).toMatchObject({ status: 'processando', executor: null });
  end.resolve();
  await drained;
  expect(await bench.chain(id)).toMatchObject([{ status: 'sucesso' }]);
  await nsj.stop();
});

test('workers that lock in the database, and monitors, are not taken for such', async () => {
  await (await bench.start({ worker: false })).close();
  const monitor = await bench.connect();
  await monitor.query(`select count(*) as qtd from tasks as tarefa where status = 'pendente'`);
  const ready = deferred();
  const nsj = await NsjWorker.start(bench.database.url, () => {
    ready.resolve();
    return new Promise(() => undefined);
  });
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo) values ('slow') returning id`,
  );
  void nsj.drain().catch(() => undefined);
  await ready.promise;
  await bench.start({ handlers: [Quick], ...interop });
  nsj.kill();
  expect(await bench.endedChain(rows[0]?.id ?? '', 2)).toMatchObject([
    { status: 'falha' },
    { status: 'sucesso' },
  ]);
});
