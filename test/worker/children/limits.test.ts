import { execFileSync } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { QueueAdmin, TaskHandler, type TaskContext } from '../../../lib/index.js';
import { Greeting, IsolatedHandlers, limitMs } from '../../support/children/isolated-module.js';
import { holdTimers, type HeldTimers } from '../../support/held-timers.js';
import { onPostgres } from '../../support/run-database.js';
import { deferred, until } from '../../support/waiting.js';
import { useQueue } from '../queue-bench.js';
import { useIsolated } from './isolated-bench.js';

const bench = useQueue();
const isolated = useIsolated(bench);

async function threadOf(id: string): Promise<number> {
  const { resultado } = await bench.ended(id);
  const result: unknown = typeof resultado === 'string' ? JSON.parse(resultado) : resultado;
  return (result as { readonly threadId: number }).threadId;
}

/** Timeouts of handlers ring when the test says. */
function holdTimeouts(): HeldTimers {
  return holdTimers((ms) => ms === limitMs);
}

test('a handler that blocks its thread keeps nobody waiting, and its timeout ends it and no other', async () => {
  const timeouts = holdTimeouts();
  const { queue } = await isolated.start({ threads: 2 });
  const [spin = '', hold = ''] = await queue.insertTasks([{ topic: 'spin' }, { topic: 'hold' }]);
  await Promise.all([isolated.started(spin), isolated.started(hold)]);
  const inline = await queue.insertTask({ topic: 'inline' });
  expect(await bench.ended(inline)).toMatchObject({ status: 'sucesso' });
  expect(await bench.statusOf(spin)).toBe('processando');
  timeouts.ringFirst();
  expect(await bench.ended(spin)).toMatchObject({
    status: 'falha',
    mensagem: 'IsolatedHandlers.spin did not end within its timeoutMs (2001) (no attempts left)',
  });
  expect(await isolated.effects()).not.toContain(spin);
  isolated.release();
  expect(await bench.ended(hold)).toMatchObject({ status: 'sucesso' });
});

test('an expression that would match for ever is ended as well', async () => {
  const timeouts = holdTimeouts();
  const { queue } = await isolated.start();
  const match = await queue.insertTask({ topic: 'match' });
  await isolated.started(match);
  const inline = await queue.insertTask({ topic: 'inline' });
  expect(await bench.ended(inline)).toMatchObject({ status: 'sucesso' });
  timeouts.ringFirst();
  expect(await bench.ended(match)).toMatchObject({
    status: 'falha',
    mensagem: 'IsolatedHandlers.match did not end within its timeoutMs (2001) (no attempts left)',
  });
});

test('a thread in native code counts until it is gone: nothing runs beside it in its place', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tarefa-pipe-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const timeouts = holdTimeouts();
  const { queue } = await isolated.start({ threads: 1 });
  const piping = await queue.insertTask({ topic: 'pipe', payload: { path } });
  await isolated.started(piping);
  timeouts.ringFirst();
  expect(await bench.ended(piping)).toMatchObject({ status: 'falha' });
  const next = await queue.insertTask({ topic: 'greet', payload: { name: 'Eva' } });
  const inline = await queue.insertTask({ topic: 'inline' });
  expect(await bench.ended(inline)).toMatchObject({ status: 'sucesso' });
  // In the table, for any worker.
  expect(await bench.statusOf(next)).toBe('pendente');
  await (await open(path, 'w')).close();
  expect(await bench.ended(next)).toMatchObject({ status: 'sucesso' });
});

test('a statement that never ends is ended on the server with its thread', async () => {
  const timeouts = holdTimeouts();
  const { queue } = await isolated.start();
  const id = await queue.insertTask({ topic: 'sleep' });
  await until(isAsleep, 'the statement to begin');
  timeouts.ringFirst();
  expect(await bench.ended(id)).toMatchObject({
    status: 'falha',
    mensagem: expect.stringContaining('within its timeoutMs (2001)') as unknown,
  });
  await until(async () => !(await isAsleep()), 'the end of the statement');
});

test('it is ended there also while other handlers hold all connections', async () => {
  const timeouts = holdTimeouts();
  const [kept, end] = [deferred(), deferred()];
  class Keeping {
    @TaskHandler('keep')
    async keep(_: unknown, { db }: TaskContext): Promise<void> {
      await db.query('select 1');
      kept.resolve();
      await end.promise;
    }
  }
  const handlers = [Greeting, IsolatedHandlers, Keeping];
  const { queue } = await isolated.start({}, { poolSize: 1, handlers });
  const [sleep = '', keep = ''] = await queue.insertTasks([{ topic: 'sleep' }, { topic: 'keep' }]);
  await Promise.all([until(isAsleep, 'the statement to begin'), kept.promise]);
  timeouts.ringFirst();
  await until(async () => !(await isAsleep()), 'the end of the statement');
  end.resolve();
  expect(await bench.ended(keep)).toMatchObject({ status: 'sucesso' });
  expect(await bench.ended(sleep)).toMatchObject({ status: 'falha' });
});

async function isAsleep(): Promise<boolean> {
  const { rows } = await bench.pool.query(
    onPostgres
      ? `select 1 as one from pg_stat_activity
         where datname = current_database() and query like 'select pg_sleep(3600)%' and state = 'active'`
      : "select 1 as one from information_schema.processlist where db = database() and info like '%select sleep(3600)%' and info not like '%processlist%'",
  );
  return rows.length > 0;
}

test.each([
  ['exit', 'the thread of the handler exited with code 3 (no attempts left)'],
  [
    'uncaught',
    'the thread of the handler was ended by an uncaught error: nobody catches this (no attempts left)',
  ],
  ['exhaust', 'the thread of the handler ran out of memory (isolation.maxMemoryMb is 64) (no attempts left)'],
])('a thread that ends by %s fails its task only, and is replaced', async (topic, mensagem) => {
  const { queue } = await isolated.start({ threads: 2, maxMemoryMb: 64 });
  const hold = await queue.insertTask({ topic: 'hold' });
  await isolated.started(hold);
  const id = await queue.insertTask({ topic });
  expect(await bench.ended(id)).toMatchObject({ status: 'falha', mensagem });
  expect(await isolated.effects()).not.toContain(id);
  const next = await queue.insertTask({ topic: 'greet', payload: { name: 'Eva' } });
  expect(await bench.ended(next)).toMatchObject({ status: 'sucesso' });
  expect(await bench.statusOf(hold)).toBe('processando');
  isolated.release();
  expect(await bench.ended(hold)).toMatchObject({ status: 'sucesso' });
});

test('while no thread can be started, its tasks wait in the table and others go on; then they run', async () => {
  const { queue, events } = await isolated.start({ threads: 1 });
  process.env['ISOLATED_BOOT'] = 'fails';
  onTestFinished(() => void delete process.env['ISOLATED_BOOT']);
  const warnings: string[] = [];
  events.on('warning', ({ message }) => void warnings.push(message));
  const exit = await queue.insertTask({ topic: 'exit' });
  expect(await bench.ended(exit)).toMatchObject({ status: 'falha' });
  const failed = /^a thread of isolated handlers could not start and will be retried: .*: not now$/;
  await until(async () => warnings.some((message) => failed.test(message)), 'the warning');
  const id = await queue.insertTask({ topic: 'greet', payload: { name: 'Eva' } });
  const inline = await queue.insertTask({ topic: 'inline' });
  expect(await bench.ended(inline)).toMatchObject({ status: 'sucesso' });
  expect(await bench.statusOf(id)).toBe('pendente');
  delete process.env['ISOLATED_BOOT'];
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
});

test('no more run than there are threads; the others wait in the table, whatever their topics, and inline ones go on', async () => {
  const { queue } = await isolated.start({ threads: 2 }, { concurrency: 10 });
  const topics = ['hold', 'hold too', 'hold', 'hold too', 'hold', 'hold too'];
  const ids = await queue.insertTasks(topics.map((topic) => ({ topic })));
  await until(async () => isolated.told.length === 2, 'two to start');
  const inline = await queue.insertTasks(Array.from({ length: 50 }, () => ({ topic: 'inline' })));
  for (const id of inline) expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
  const rows = await Promise.all(ids.map((id) => bench.row(id)));
  expect(rows.filter(({ status, reserva }) => status === 'pendente' && Number(reserva) === 0)).toHaveLength(
    4,
  );
  expect(isolated.told).toHaveLength(2);
  for (const done of [2, 4, 6]) {
    await until(async () => isolated.told.length === done, `${done} to have started`);
    isolated.release();
  }
  const threads = new Set(await Promise.all(ids.map(threadOf)));
  expect(threads.size).toBe(2);
});

test.each([
  ['thread', 'start', 'too much'],
  ['process', 'startInProcesses', 'process too much'],
] as const)(
  'of what a handler in a %s says and returns no more is kept than of others',
  async (_, start, topic) => {
    const { queue, app } = await isolated[start]();
    const id = await queue.insertTask({ topic });
    await until(async () => (await bench.row(id)).mensagem === 'é'.repeat(500), 'its progress, cut');
    await app.get(QueueAdmin, { strict: false }).cancel(id);
    expect(await bench.ended(id)).toMatchObject({
      status: 'sucesso',
      mensagem: 'result not recorded: it has 2000011 bytes, more than maxPayloadBytes (1048576)',
      resultado: null,
    });
  },
);

test('an attempt that is cancelled is told so in its thread', async () => {
  const { queue, app } = await isolated.start();
  const id = await queue.insertTask({ topic: 'obey' });
  await isolated.started(id);
  await app.get(QueueAdmin, { strict: false }).cancel(id);
  const { resultado } = await bench.ended(id);
  expect(typeof resultado === 'string' ? JSON.parse(resultado) : resultado).toMatchObject({
    code: 'TASK_CANCELLED',
  });
});
