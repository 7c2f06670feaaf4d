import { beforeAll, describe, expect, test } from 'vitest';
import { QueueAdmin, TaskHandler } from '../../lib/index.js';
import { useQueue, type AttemptRow } from './queue-bench.js';

// What anybody may write into a row by SQL, past the trigger that files: by an update.
const bench = useQueue();
const most = 2_147_483_647;
const runs: string[] = [];

class Handlers {
  @TaskHandler('greet', { maxAttempts: 3 })
  greet(name: string): string {
    runs.push(name);
    return `hello ${name}`;
  }
  @TaskHandler('break', { maxAttempts: 2, retryDelayMs: 0 })
  break(): void {
    throw new Error('broken');
  }
  @TaskHandler('once', { maxAttempts: 1 })
  once(): void {
    throw new Error('broken');
  }
  @TaskHandler('fail')
  fail(): void {
    throw new Error('broken');
  }
}

// Makes the tables; nobody takes what is inserted before a test starts its worker.
beforeAll(async () => {
  await (await bench.start({ worker: false })).close();
});

const start = () => bench.start({ handlers: [Handlers], retryIntervalMinutes: 5 });

/** Inserts a task that nobody takes, changes its row by SQL, and answers its id. */
async function changed(set: string, topic = 'greet'): Promise<string> {
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, payload, status) values ($1, 'you', 'waiting') returning id`,
    [topic],
  );
  const id = rows[0]?.id ?? '';
  await bench.pool.query(
    `update tasks set ${set.includes('status') ? '' : `status = 'pendente', `}${set} where id = $1`,
    [id],
  );
  return id;
}

describe('times without end', () => {
  test.each(['agendada', 'pendente'])('%s at -infinity is at once, at infinity is never', async (status) => {
    const never = await changed(`status = '${status}', data_hora = 'infinity'`);
    const early = await changed(
      `status = '${status}', data_hora = '-infinity', data_hora_inicial = '-infinity'`,
    );
    const { queue } = await start();
    const next = await queue.insertTask({ topic: 'greet', payload: 'next', delayMs: 200 });
    for (const id of [early, next]) expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
    expect(await bench.row(never)).toMatchObject({ status });
  });

  test('a producer may insert them while workers wait for a ring', async () => {
    const { queue } = await start();
    await bench.ended(await queue.insertTask({ topic: 'greet', payload: 'first' }));
    const { rows } = await bench.pool.query<{ id: string }>(
      `insert into tasks (processo, data_hora) values ('greet', '-infinity'), ('greet', 'infinity') returning id`,
    );
    const [early, never] = rows.map(({ id }) => id) as [string, string];
    expect(await bench.ended(early)).toMatchObject({ status: 'sucesso' });
    expect(await bench.row(never)).toMatchObject({ status: 'agendada' });
  });

  test('the next attempt of what was due at -infinity waits as long as any', async () => {
    const id = await changed(`data_hora = '-infinity'`, 'fail');
    await start();
    const { proxima_tentativa, finalizada_em } = await bench.ended(id);
    const waits = Number(proxima_tentativa) - Number(finalizada_em);
    expect(Math.round(waits / 60_000)).toBe(5);
  });
});

describe('counters at their maximum', () => {
  test.each([
    ['reserva', most],
    ['reserva', -most - 1],
    ['perdas', most],
    ['perdas', -most - 1],
    ['rodada', most],
    ['rodada', -most - 1],
    ['prioridade', most],
    ['prioridade', -most - 1],
    ['tentativa', -most - 1],
  ])('%s %i: the task runs, and those beside it', async (column, value) => {
    const odd = await changed(`${column} = ${value}`);
    const { queue } = await start();
    const beside = await queue.insertTask({ topic: 'greet', payload: 'beside' });
    for (const id of [odd, beside]) expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
  });

  test.each(['reserva', 'perdas', 'rodada'])(
    '%s: what fails is tried again, buried and retried',
    async (column) => {
      // Before the worker starts: nobody rings for what an update makes pending.
      const id = await changed(`${column} = ${most}`, 'break');
      const { app } = await start();
      const admin = app.get(QueueAdmin, { strict: false });
      const hasDead = (rows: readonly AttemptRow[]): boolean => rows.some(({ dead }) => dead === true);
      expect(hasDead(await bench.endedChain(id, 3))).toBe(true);
      await admin.retry(id);
      await bench.endedChain(id, 6);
    },
  );
});

describe('an attempt above the maximum', () => {
  test.each([4, most])('is not run: attempt %i of 3 fails, says why, and is buried', async (attempt) => {
    runs.length = 0;
    const id = await changed(`tentativa = ${attempt}`);
    await start();
    const [failed, dead] = await bench.endedChain(id, 2);
    expect(failed).toMatchObject({
      status: 'falha',
      mensagem: `attempt ${attempt} is above maxAttempts (3): it was not run (no attempts left)`,
      estouro_tentativas: true,
    });
    expect(dead).toMatchObject({ dead: true, live_id: id });
    expect(runs).toEqual([]);
  });

  test('the last one that there may be is run', async () => {
    const id = await changed('tentativa = 3');
    await start();
    expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
  });

  test('of a publication is not delivered', async () => {
    await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('mail', 'order')`);
    // Before the worker starts: nobody rings for what an update makes pending.
    const id = await changed('tentativa = 3, pub_sub = true', 'order');
    await bench.start({ handlers: [Handlers], maxAttempts: 2 });
    const [failed, dead] = await bench.endedChain(id, 2);
    expect(failed).toMatchObject({
      status: 'falha',
      mensagem: expect.stringContaining('attempt 3 is above maxAttempts (2)'),
    });
    expect(dead).toMatchObject({ dead: true, pub_sub: true });
    const { rows } = await bench.pool.query('select from tasks where publication_id is not null');
    expect(rows).toEqual([]);
  });
});

describe('what stands in the place of a next attempt or a dead task', () => {
  /** Inserts a task that fails, and the other row, before a worker takes either. */
  async function beside(topic: string, columns: string, values: string): Promise<[string, string]> {
    const id = await changed('tentativa = 1', topic);
    const { rows } = await bench.pool.query<{ id: string }>(
      `insert into tasks (processo, status, ${columns}) values ('elsewhere', 'pendente', ${values.replace('$', id)})
       returning id`,
    );
    return [id, rows[0]?.id ?? ''];
  }

  test.each([
    ['a next attempt', 'break', 'id_anterior', '$', true],
    ['a dead task', 'once', 'dead, live_id', 'true, $', false],
  ])('%s stays, and the task fails', async (_what, topic, columns, values, retried) => {
    const [id, other] = await beside(topic, columns, values);
    await start();
    expect(await bench.ended(id)).toMatchObject({ status: 'falha', reenfileirado: retried });
    const { rows } = await bench.pool.query('select id from tasks where id_anterior = $1 or live_id = $1', [
      id,
    ]);
    expect(rows).toEqual([{ id: other }]);
  });

  test('is what becomes of a task that is buried', async () => {
    const [id, other] = await beside('nobody', 'dead, live_id', 'true, $');
    const { app } = await bench.start({ worker: false });
    expect(await app.get(QueueAdmin, { strict: false }).bury(id)).toBe(other);
  });

  test.each([1_000_000_000, most])('in round %i: all that failed are retried at once', async (round) => {
    const { app } = await bench.start({ worker: false });
    await bench.pool.query(
      `insert into tasks (processo, status, publication_id, subscriber_id, rodada)
       select 'order', 'falha', 7, 'mail-' || n, 0 from generate_series(1, 5) n`,
    );
    await bench.pool.query(`update tasks set rodada = $1 where subscriber_id = 'mail-3'`, [round]);
    const run = app.get(QueueAdmin, { strict: false }).bulk('retry');
    const done: number[] = [];
    for await (const count of run.run(await run.plan({ topic: 'order' }))) done.push(count);
    expect(done).toEqual([5]);
  });
});
