import { expect, test } from 'vitest';
import { QueueAdmin, RetryAt, Snooze, TaskHandler, type TaskContext } from '../../lib/index.js';
import { LogLines } from '../support/log-lines.js';
import { unlessTold } from '../support/run-database.js';
import { deferred, nextEvent } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

test('a snoozed task comes back as the same attempt, without a failure, and succeeds', async () => {
  const seen: number[] = [];
  class Handlers {
    @TaskHandler('early', { maxAttempts: 1 })
    async early(_: unknown, { task }: TaskContext): Promise<string> {
      seen.push(task.attempt);
      if (seen.length === 1) throw new Snooze(1, 'not yet');
      if (seen.length === 2) throw new Snooze(new Date(), 'still not');
      return 'done';
    }
  }
  const { queue, events } = await bench.start({ handlers: [Handlers] });
  const told: unknown[] = [];
  events.on('task.failed', (failed) => void told.push(failed));
  events.on('task.snoozed', ({ message }) => void told.push(message));
  const id = await queue.insertTask({ topic: 'early' });
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso', tentativa: 1, mensagem: 'done' });
  expect(seen).toEqual([1, 1, 1]);
  expect(told).toEqual(['not yet', 'still not']);
  expect(await bench.chain(id)).toHaveLength(1);
});

test('a snoozed task gives its slot back, and nothing warns of it', async () => {
  const [logger, other] = [new LogLines(), deferred()];
  let snoozes = 0;
  class Handlers {
    @TaskHandler('slot')
    slot(payload: unknown): void {
      if (payload === 'other') return other.resolve();
      snoozes += 1;
      if (snoozes === 1) throw new Snooze(86_400_000, 'not today');
    }
  }
  const { app, queue, events } = await bench.start({
    handlers: [Handlers],
    concurrency: 1,
    pollIntervalMs: unlessTold,
    logger,
  });
  const snoozed = nextEvent(events, 'task.snoozed');
  // Of this rule a failure warns.
  await bench.pool.query(
    `insert into tasks (processo, metadados) values ('slot', '{"tarefa:maxAttempts": "once"}')`,
  );
  const { task, message } = await snoozed;
  const { id } = task;
  expect(message).toBe('not today');
  const last = await queue.insertTask({ topic: 'slot', payload: 'other' });
  await other.promise;
  expect(await bench.ended(last)).toMatchObject({ status: 'sucesso' });
  expect(await bench.row(id)).toMatchObject({ status: 'agendada', tentativa: 1 });
  await app.get(QueueAdmin).runNow(id);
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso', tentativa: 1 });
  expect([...logger.of('warn'), ...logger.of('error')]).toEqual([]);
});

test('what a snoozed handler has written by ctx.db is undone', async () => {
  let runs = 0;
  class Handlers {
    @TaskHandler('writes')
    async writes(_: unknown, { db }: TaskContext): Promise<void> {
      await db.query(`insert into effects values (1)`);
      runs += 1;
      if (runs === 1) throw new Snooze(1);
    }
  }
  await bench.pool.query('create table effects (n int)');
  const { queue } = await bench.start({ handlers: [Handlers] });
  await bench.ended(await queue.insertTask({ topic: 'writes' }));
  const { rows } = await bench.pool.query('select n from effects');
  expect(rows).toEqual([{ n: 1 }]);
});

test('an attempt that was snoozed maxSnoozes times fails, saying so', async () => {
  class Handlers {
    @TaskHandler('never', { maxAttempts: 1 })
    never(): void {
      throw new Snooze(0, 'not yet');
    }
  }
  const { queue } = await bench.start({ handlers: [Handlers], maxSnoozes: 2 });
  expect(await bench.ended(await queue.insertTask({ topic: 'never' }))).toMatchObject({
    status: 'falha',
    reserva: 3,
    mensagem: 'snoozed more than maxSnoozes (2) times: not yet (no attempts left)',
  });
});

test.each([Number.NaN, new Date(Number.NaN), '5 minutes' as never])(
  'a Snooze until %s is a failure, of which a warning says why',
  async (until) => {
    class Handlers {
      @TaskHandler('wrong', { maxAttempts: 1 })
      wrong(): void {
        throw new Snooze(until, 'not yet');
      }
    }
    const { queue, events } = await bench.start({ handlers: [Handlers] });
    const warned = nextEvent(events, 'warning', ({ message }) => message.includes('Snooze was thrown with'));
    const id = await queue.insertTask({ topic: 'wrong' });
    await warned;
    expect(await bench.ended(id)).toMatchObject({ status: 'falha' });
  },
);

test('a task that was cancelled before it is snoozed ends cancelled', async () => {
  const [started, go] = [deferred(), deferred()];
  class Handlers {
    @TaskHandler('stubborn')
    async stubborn(): Promise<void> {
      started.resolve();
      await go.promise;
      throw new Snooze(1);
    }
  }
  const { app, queue, events } = await bench.start({ handlers: [Handlers] });
  const id = await queue.insertTask({ topic: 'stubborn' });
  await started.promise;
  await app.get(QueueAdmin).cancel(id, { by: 'ana' });
  const cancelled = nextEvent(events, 'task.cancelled', ({ task }) => task.id === id);
  go.resolve();
  await cancelled;
  expect(await bench.ended(id)).toMatchObject({ status: 'falha', cancelada_por: 'ana', tentativa: 1 });
});

test('what is no time hides neither the error nor what it says', () => {
  expect(new Snooze('5m' as never).message).toBe('snoozed until an invalid date');
  expect(new RetryAt('5m' as never).message).toBe('to be retried at an invalid date');
});
