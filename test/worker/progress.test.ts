import { expect, test } from 'vitest';
import { QueueAdmin, TaskHandler, type TaskContext } from '../../lib/index.js';
import { ownSql } from '../support/run-database.js';
import { deferred, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

test('progress is read while its handler runs, though transactions of handlers have all connections', async () => {
  const [half, end] = [deferred(), deferred()];
  class Handlers {
    @TaskHandler('long')
    async long(_: unknown, ctx: TaskContext): Promise<string> {
      await ctx.db.query('select 1');
      ctx.progress('reading');
      await half.promise;
      ctx.progress(0.1);
      ctx.progress(0.29);
      await end.promise;
      return 'done';
    }
  }
  const { app, queue } = await bench.start({ handlers: [Handlers], poolSize: 1 });
  const admin = app.get(QueueAdmin);
  const id = await queue.insertTask({ topic: 'long' });
  const heard: string[] = [];
  const ended = admin.waitFor(id, { onProgress: (message) => void heard.push(message) });
  await until(async () => heard.includes('reading'), 'the first word is heard');
  half.resolve();
  await until(async () => (await admin.find(id)).current.message === '29 %', 'the last number is there');
  await until(async () => heard.includes('29 %'), 'the last number is heard');
  end.resolve();
  expect(await ended).toMatchObject({ status: 'succeeded', message: 'done' });
  expect(heard).toEqual(['reading', '29 %']);
});

test.each<readonly [unknown, string]>([
  [0, '0 %'],
  [0.999999, '99 %'],
  [1, '100 %'],
  [57, '57, which is neither a number from 0 to 1 nor text'],
  [0 / 0, 'NaN, which is neither a number from 0 to 1 nor text'],
  [undefined, 'undefined, which is neither a number from 0 to 1 nor text'],
  [{ done: 1 }, 'an object, which is neither a number from 0 to 1 nor text'],
  [`a\0b${'é'.repeat(600)}`, `ab${'é'.repeat(498)}`],
])('progress of %s does not fail the attempt', async (progress, message) => {
  const end = deferred();
  class Handlers {
    @TaskHandler('says')
    async says(_: unknown, ctx: TaskContext): Promise<void> {
      ctx.progress(progress as number);
      await end.promise;
    }
  }
  const { queue } = await bench.start({ handlers: [Handlers] });
  const id = await queue.insertTask({ topic: 'says' });
  await until(async () => (await bench.row(id)).mensagem === message, `the message ${message}`);
  end.resolve();
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso', mensagem: 'completed' });
});

test('progress neither waits for a row that its handler has locked, nor keeps it from its end', async () => {
  const [other, ends] = [
    deferred(),
    new Map([
      ['locks', deferred()],
      ['other', deferred()],
    ]),
  ];
  class Handlers {
    @TaskHandler()
    async any(_: unknown, ctx: TaskContext): Promise<void> {
      const { topic, id } = ctx.task;
      if (topic === 'locks') await ctx.db.query(ownSql('select 1 from tasks where id = $1 for update'), [id]);
      else await other.promise;
      ctx.progress(topic ?? '');
      await ends.get(topic ?? '')?.promise;
    }
  }
  const { queue } = await bench.start({ handlers: [Handlers] });
  const locks = await queue.insertTask({ topic: 'locks' });
  const id = await queue.insertTask({ topic: 'other' });
  other.resolve();
  // Written in one statement with that of the other, or behind it.
  await until(async () => (await bench.row(id)).mensagem === 'other', 'the other one is written');
  expect((await bench.row(locks)).mensagem).toBeNull();
  for (const end of ends.values()) end.resolve();
  for (const one of [locks, id]) expect(await bench.ended(one)).toMatchObject({ status: 'sucesso' });
});

test('progress after the end is nothing', async () => {
  const kept: TaskContext[] = [];
  const end = deferred();
  class Handlers {
    @TaskHandler('keeps')
    keeps(_: unknown, ctx: TaskContext): void {
      kept.push(ctx);
    }

    @TaskHandler('next')
    async next(_: unknown, ctx: TaskContext): Promise<void> {
      ctx.progress('behind');
      await end.promise;
    }
  }
  const { queue } = await bench.start({ handlers: [Handlers] });
  const id = await queue.insertTask({ topic: 'keeps' });
  await bench.ended(id);
  kept[0]?.progress('late');
  const next = await queue.insertTask({ topic: 'next' });
  await until(async () => (await bench.row(next)).mensagem === 'behind', 'the next one is written');
  expect(await bench.row(id)).toMatchObject({ mensagem: 'completed' });
  end.resolve();
});

test('what an onProgress rejects with is what the wait rejects with', async () => {
  const end = deferred();
  class Handlers {
    @TaskHandler('long')
    async long(_: unknown, ctx: TaskContext): Promise<void> {
      ctx.progress('half');
      await end.promise;
    }
  }
  const { app, queue } = await bench.start({ handlers: [Handlers] });
  const id = await queue.insertTask({ topic: 'long' });
  const onProgress = async (message: string): Promise<void> => {
    await Promise.resolve();
    throw new Error(`not ${message}`);
  };
  await expect(app.get(QueueAdmin).waitFor(id, { onProgress })).rejects.toThrow('not half');
  end.resolve();
  await bench.ended(id);
});

test('waitFor refuses an onProgress that is no function', async () => {
  const { app, queue } = await bench.start({ worker: false });
  const id = await queue.insertTask({ topic: 'nobody' });
  const waiting = app.get(QueueAdmin).waitFor(id, { onProgress: 'log' as never });
  await expect(waiting).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message: 'onProgress must be a function, not "log"',
  });
});
