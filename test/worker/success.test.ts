import { beforeAll, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { onPostgres, ownSql } from '../support/run-database.js';
import { deferred, nextEvent } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

beforeAll(async () => {
  await bench.pool.query('create table business (task bigint primary key)');
});

/** Writes a business row and ends when it is told to, with what it is told to return. */
async function startWriter() {
  const written = deferred();
  const answer = deferred<unknown>();
  class Writer {
    @TaskHandler('write')
    async write(_: unknown, ctx: TaskContext): Promise<unknown> {
      await ctx.db.query(ownSql('insert into business (task) values ($1)'), [ctx.task.id]);
      written.resolve();
      return answer.promise;
    }
  }
  const { queue, worker, events } = await bench.start({ handlers: [Writer] });
  const completed = nextEvent(events, 'task.completed');
  const id = await queue.insertTask({ topic: 'write' });
  await written.promise;
  return { id, worker, events, completed, answer };
}

/** The task and its effect, as another connection sees them in one snapshot. */
async function look(id: string): Promise<unknown> {
  const { rows } = await bench.pool.query(
    `select status, mensagem, (select count(*)::int from business b where b.task = t.id) as effects
     from tasks t where id = $1`,
    [id],
  );
  return rows[0];
}

test('another connection sees processando while the handler runs', async () => {
  const { id, worker, answer } = await startWriter();
  const row = await bench.row(id);
  expect(row).toMatchObject({ status: 'processando', executor: worker.id, reserva: 1, mensagem: null });
  expect(row['iniciada_em']).toBeInstanceOf(Date);
  expect(row['finalizada_em']).toBeNull();
  answer.resolve(undefined);
  await bench.ended(id);
});

test('business row, success and message become visible together', async () => {
  const { id, answer, completed } = await startWriter();
  expect(await look(id)).toEqual({ status: 'processando', mensagem: null, effects: 0 });
  answer.resolve('ok');
  await completed;
  expect(await look(id)).toEqual({ status: 'sucesso', mensagem: 'ok', effects: 1 });
  if (!onPostgres) return;
  // Written by one and the same transaction.
  const { rows } = await bench.pool.query(
    'select t.xmin = b.xmin as together from tasks t join business b on b.task = t.id where t.id = $1',
    [id],
  );
  expect(rows).toEqual([{ together: true }]);
});

test('the message is the default one when nothing is returned, an object is the result', async () => {
  const returns = {
    nothing: undefined,
    null: null,
    object: { sent: ['á', 1] },
    list: [],
    number: 7,
    false: false,
  };
  class Answers {
    @TaskHandler()
    async answer(_: unknown, { task, db }: TaskContext): Promise<unknown> {
      if (task.externalKey === 'with transaction') await db.query('select 1');
      return returns[task.topic as keyof typeof returns];
    }
  }
  const { queue } = await bench.start({ handlers: [Answers] });
  const results = {
    nothing: null,
    null: null,
    object: '{"sent":["á",1]}',
    list: '[]',
    number: '7',
    false: 'false',
  };
  for (const [topic, resultado] of Object.entries(results)) {
    for (const externalKey of ['with transaction', 'without']) {
      const row = await bench.ended(await queue.insertTask({ topic, externalKey }));
      expect(row).toMatchObject({ status: 'sucesso', mensagem: 'completed', resultado });
      expect(row['finalizada_em']).toBeInstanceOf(Date);
    }
  }
});

test('a success leaves every other column as it was', async () => {
  class Nothing {
    @TaskHandler('nothing')
    nothing(): void {}
  }
  const { queue, worker } = await bench.start({ handlers: [Nothing], autoStart: false });
  const id = await queue.insertTask({
    topic: 'nothing',
    payload: 'text',
    externalKey: 'k',
    tenant: 1,
    metadata: { a: 1 },
  });
  const before = await bench.row(id);
  await worker.start();
  const after = await bench.ended(id);
  expect(after).toEqual({
    ...before,
    status: 'sucesso',
    mensagem: 'completed',
    executor: worker.id,
    reserva: 1,
    iniciada_em: after['iniciada_em'],
    finalizada_em: after['finalizada_em'],
  });
});
