import { expect, onTestFinished, test, vi } from 'vitest';
import { startProxy } from '../../support/database-proxy.js';
import { onPostgres } from '../../support/run-database.js';
import { nextEvent, until } from '../../support/waiting.js';
import { useQueue, type AttemptRow } from '../queue-bench.js';
import { useIsolated } from './isolated-bench.js';

const bench = useQueue();
const isolated = useIsolated(bench);
/** Bytes of a large payload; MariaDB takes no statement of more than 16 MiB, unless it is told to. */
const largeBytes = onPostgres ? 20_000_000 : 12_000_000;
const inThread = { isMainThread: false, threadId: expect.any(Number) as unknown };

async function resultOf(id: string): Promise<unknown> {
  const { status, mensagem, resultado } = await bench.ended(id);
  expect({ status, mensagem }).toEqual({ status: 'sucesso', mensagem: 'completed' });
  return parseResult(resultado);
}

/** MariaDB answers JSON as text. */
function parseResult(result: unknown): unknown {
  return typeof result === 'string' ? JSON.parse(result) : result;
}

test('an isolated handler runs in a thread, with its injection, payload and context; others run where they did', async () => {
  const { queue } = await isolated.start();
  const [greeted = '', inline = '', decorated = ''] = await queue.insertTasks([
    { topic: 'greet', payload: { name: 'Ana' } },
    { topic: 'inline' },
    { topic: 'parameters', payload: { name: 'Bea' } },
  ]);
  expect(await resultOf(greeted)).toEqual({
    ...inThread,
    greeting: 'hello Ana',
    topic: 'greet',
    key: expect.stringMatching(/^[0-9a-f]{32}$/) as unknown,
  });
  expect(await resultOf(inline)).toMatchObject({ isMainThread: true });
  expect(await resultOf(decorated)).toEqual({ name: 'Bea', attempt: 1 });
});

test('a payload is parsed in the thread and nowhere else, however large', async () => {
  // The parent's way to the database; threads have their own.
  const proxy = await startProxy(bench.database);
  onTestFinished(() => proxy.close());
  const { queue, events } = await isolated.start(
    {},
    { connection: proxy.url, maxPayloadBytes: 2 * largeBytes },
  );
  const parsed = vi.spyOn(JSON, 'parse');
  const small = await queue.insertTask({ topic: 'measure', payload: { text: 'measured'.repeat(10) } });
  await bench.ended(small);
  const completed = nextEvent(events, 'task.completed', ({ task }) => task.id !== small);
  await bench.pool.query(`insert into tasks (processo, payload) values ('measure', $1)`, [
    JSON.stringify({ text: 'measured'.repeat(largeBytes / 8) }),
  ]);
  await completed;
  const here = parsed.mock.calls.filter(([text]) => text.includes('measured'));
  parsed.mockRestore();
  expect(here).toEqual([]);
  // Neither read nor parsed: it does not even get there.
  expect(proxy.received).toBeLessThan(largeBytes / 10);
  expect(await resultOf(small)).toEqual({ ...inThread, length: 80 });
  const { rows } = await bench.pool.query<{ resultado: unknown }>(
    'select resultado from tasks where id > $1',
    [small],
  );
  expect(rows.map(({ resultado }) => parseResult(resultado))).toEqual([{ ...inThread, length: largeBytes }]);
});

test('what an isolated handler does in its transaction commits with its success', async () => {
  const { queue } = await isolated.start();
  const ids = await queue.insertTasks([{ topic: 'write', payload: {} }, { topic: 'client' }]);
  for (const id of ids) expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
  expect(await isolated.effects()).toEqual(expect.arrayContaining(ids));
  const { rows } = await bench.pool.query('select processo from tasks order by id');
  expect(rows.map(({ processo }: { processo?: unknown }) => processo)).toEqual([
    'write',
    'client',
    'beside',
    'together',
  ]);
});

test('what an isolated handler did before it threw is undone', async () => {
  const { queue } = await isolated.start();
  const id = await queue.insertTask({ topic: 'write', payload: { fail: true } });
  expect(await bench.ended(id)).toMatchObject({
    status: 'falha',
    mensagem: 'after the write (no attempts left)',
  });
  expect(await isolated.effects()).not.toContain(id);
  const { rows } = await bench.pool.query("select 1 as one from tasks where processo = 'together'");
  expect(rows).toEqual([]);
});

test('an error keeps its name, stack, code and causes on its way out of the thread', async () => {
  const { queue, events } = await isolated.start({}, { errorProperties: ['status'] });
  const failed = nextEvent(events, 'task.failed');
  const id = await queue.insertTask({ topic: 'fail', payload: { kind: 'plain' } });
  const { mensagem, erro } = await bench.ended(id);
  expect(mensagem).toBe('out of range (no attempts left)');
  expect(erro).toMatch(/^RangeError: out of range\n +at IsolatedHandlers\.fail \(/);
  expect(erro).toContain("code: 'E_RANGE'");
  expect(erro).toContain('[cause]: TypeError: the cause');
  expect(erro).toContain("code: 'E_CAUSE'");
  expect((await failed).error).toMatchObject({
    name: 'RangeError',
    code: 'E_RANGE',
    cause: { name: 'TypeError' },
  });
});

test('what an error says of the next attempt holds for isolated handlers', async () => {
  const { queue } = await isolated.start();
  const [hopeless = '', later = '', value = ''] = await queue.insertTasks([
    { topic: 'fail', payload: { kind: 'hopeless' } },
    { topic: 'later' },
    { topic: 'fail', payload: { kind: 'value' } },
  ]);
  expect(await bench.ended(hopeless)).toMatchObject({ status: 'falha', estouro_tentativas: true });
  const { data_hora, proxima_tentativa } = await bench.ended(later);
  expect((proxima_tentativa as Date).getTime() - (data_hora as Date).getTime()).toBeGreaterThanOrEqual(
    3_600_000,
  );
  expect(await bench.ended(value)).toMatchObject({ mensagem: 'thrown text (no attempts left)' });
});

test('an isolated handler may go on after the commit that completed its task: it is not taken for lost', async () => {
  const { queue, events, worker } = await isolated.start({}, { pollIntervalMs: 50 });
  const id = await queue.insertTask({ topic: 'finish' });
  await isolated.started(id);
  // What it holds according to the table, and knows nothing of, it gives back when it compares the two.
  const compared = nextEvent(events, 'task.released');
  await bench.pool.query(
    `insert into tasks (processo, status, executor, reserva) values ('unknown to it', 'processando', $1, 1)`,
    [worker.id],
  );
  await compared;
  isolated.release();
  await isolated.started(`${id} to its end`);
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso', mensagem: 'finished' });
});

test('an isolated handler that completes what is not its own any more is told so', async () => {
  const { queue } = await isolated.start();
  const id = await queue.insertTask({ topic: 'finish twice' });
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
  expect(await isolated.started('TASK_LOST')).toEqual({ started: 'TASK_LOST' });
});

test('progress is written while an isolated handler runs, and none of one that has ended', async () => {
  const { queue } = await isolated.start({ threads: 1 });
  const before = await queue.insertTask({ topic: 'report' });
  await isolated.started(before);
  isolated.release();
  expect(await bench.ended(before)).toMatchObject({ status: 'sucesso', mensagem: 'completed' });
  const id = await queue.insertTask({ topic: 'report' });
  await until(async () => (await bench.row(id)).mensagem === '50 %', 'its progress');
  isolated.release();
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso', mensagem: 'completed' });
  expect(await bench.row(before)).toMatchObject({ mensagem: 'completed' });
});

test('a guard refuses an isolated handler in its thread', async () => {
  const { queue } = await isolated.start();
  const id = await queue.insertTask({ topic: 'guarded' });
  const { status, mensagem } = await bench.ended(id);
  expect(status).toBe('falha');
  expect(mensagem).toContain('Nobody');
});

test('pipe and schema of an isolated handler change its payload, or refuse it as they do inline', async () => {
  await isolated.start();
  /** As another program does: the client refuses at once what a schema does not take. */
  const end = async (topic: string, payload: object): Promise<AttemptRow> => {
    const { rows } = await bench.pool.query<{ id: string }>(
      'insert into tasks (processo, payload) values ($1, $2) returning id',
      [topic, JSON.stringify(payload)],
    );
    return bench.ended(String(rows[0]?.id));
  };
  const { id: piped } = await end('piped', { name: ' Ana ' });
  expect(await resultOf(piped)).toEqual({ ...inThread, payload: { name: 'Ana' } });
  const { id: checked } = await end('checked', { amount: '7' });
  expect(await resultOf(checked)).toEqual({ ...inThread, payload: { amount: 7 } });
  for (const [topic, why] of [
    ['piped', 'the payload was refused by Trim: name must be text'],
    ['checked', 'the payload is invalid: amount: '],
  ] as const) {
    const refused = {
      status: 'falha',
      mensagem: expect.stringContaining(why) as string,
      reenfileirado: false,
      estouro_tentativas: true,
    };
    const there = await end(topic, { name: 4, amount: 'seven' });
    const here = await end(`${topic} inline`, { name: 4, amount: 'seven' });
    expect(there).toMatchObject(refused);
    expect(here).toMatchObject({ ...refused, mensagem: there.mensagem });
  }
});
