import { beforeAll, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { deferred } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';
import { onPostgres, ownSql, testOnPostgres } from '../support/run-database.js';

const bench = useQueue();

beforeAll(async () => {
  await bench.pool.query(`
    create table parent (id bigint primary key);
    create table effect (task bigint not null, step integer not null default 1,
      parent bigint${onPostgres ? ' references parent deferrable initially deferred' : ''})`);
});

/** Runs a handler once; returns its row and how many effects there are. */
async function runOnce(handle: (ctx: TaskContext) => unknown) {
  class Handlers {
    @TaskHandler('work', { maxAttempts: 1 })
    work(_: unknown, ctx: TaskContext): unknown {
      return handle(ctx);
    }
    @TaskHandler('good')
    async good(_: unknown, ctx: TaskContext): Promise<void> {
      await leaveEffect(ctx);
    }
  }
  // One connection, so that the next task gets the one that this handler used.
  const { queue } = await bench.start({ handlers: [Handlers], poolSize: 1 });
  const id = await queue.insertTask({ topic: 'work' });
  const row = await bench.ended(id);
  const next = await queue.insertTask({ topic: 'good' });
  expect(await bench.ended(next)).toMatchObject({ status: 'sucesso' });
  expect(await effectsOf(next)).toBe(1);
  return { row, effects: await effectsOf(id) };
}

const leaveEffect = ({ db, task }: TaskContext, step = 1) =>
  db.query(ownSql('insert into effect (task, step) values ($1, $2)'), [task.id, step]);

async function effectsOf(id: string): Promise<number> {
  const { rows } = await bench.pool.query('select from effect where task = $1', [id]);
  return rows.length;
}

const succeeded = { row: { status: 'sucesso' }, effects: 1 };
const failed = (text: string | RegExp) => ({
  row: {
    status: 'falha',
    mensagem: typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text),
  },
  effects: 0,
});

test('all statements of a handler are one transaction, undone when it fails', async () => {
  const outcome = await runOnce(async (ctx) => {
    await leaveEffect(ctx);
    await leaveEffect(ctx, 2);
    throw new Error('on second thoughts');
  });
  expect(outcome).toMatchObject(failed('on second thoughts'));
});

test('a database error that the handler swallows fails its attempt and is named', async () => {
  const outcome = await runOnce(async (ctx) => {
    await leaveEffect(ctx);
    await ctx.db.query('select * from nowhere').catch(() => undefined);
    return 'all fine';
  });
  expect(outcome).toMatchObject(
    failed(onPostgres ? 'relation "nowhere" does not exist' : `nowhere' doesn't exist`),
  );
  expect(outcome.row.mensagem).toContain('let database errors leave the handler');
});

test('a database error inside a savepoint of the handler is its own business', async () => {
  const outcome = await runOnce(async (ctx) => {
    await leaveEffect(ctx);
    await ctx.db.query('savepoint s');
    await ctx.db.query('select * from nowhere').catch(() => undefined);
    await ctx.db.query('rollback to savepoint s');
  });
  expect(outcome).toMatchObject(succeeded);
});

test.each(onPostgres ? ['commit', 'rollback', 'end', 'abort'] : ['commit', 'rollback'])(
  'a handler that sends %s itself fails its attempt',
  async (command) => {
    const { row } = await runOnce(async ({ db }) => {
      await db.query('select 1');
      await db.query(command);
    });
    expect(row).toMatchObject(failed('leave COMMIT and ROLLBACK to the queue').row);
  },
);

testOnPostgres('a constraint that is checked at COMMIT fails the attempt', async () => {
  const outcome = await runOnce(async (ctx) => {
    await ctx.db.query(ownSql('insert into effect (task, parent) values ($1, 99)'), [ctx.task.id]);
  });
  expect(outcome).toMatchObject(failed('violates foreign key constraint'));
});

test('a first statement in flight when the handler returns is part of the transaction', async () => {
  const outcome = await runOnce((ctx) => {
    void leaveEffect(ctx);
  });
  expect(outcome).toMatchObject(succeeded);
});

test('so are later ones, which wait for each other', async () => {
  const outcome = await runOnce(async (ctx) => {
    await ctx.db.query('select 1');
    void ctx.db.query(ownSql('select pg_sleep(0.1)'));
    void leaveEffect(ctx);
  });
  expect(outcome).toMatchObject(succeeded);
});

test('a statement in flight that fails fails the attempt, and the process lives', async () => {
  const outcome = await runOnce(async (ctx) => {
    await leaveEffect(ctx);
    void ctx.db.query(ownSql('select pg_sleep(0.1), (select 1 union all select 2)'));
  });
  expect(outcome).toMatchObject(failed('more than '));
});

test('a statement after the end is refused, and a promise of it that nobody awaits kills nothing', async () => {
  const late = deferred<unknown>();
  const refused = deferred<unknown>();
  const outcome = await runOnce(async (ctx) => {
    await leaveEffect(ctx);
    const again = (): void => {
      void leaveEffect(ctx, 2);
      leaveEffect(ctx, 3).catch((error: unknown) => refused.resolve(error));
    };
    void late.promise.then(again);
  });
  late.resolve(undefined);
  expect(outcome).toMatchObject(succeeded);
  expect(await refused.promise).toMatchObject({ code: 'TASK_ENDED' });
});

test('the same when the handler had never used its transaction', async () => {
  const late = deferred<unknown>();
  const refused = deferred<unknown>();
  const { row, effects } = await runOnce((ctx) => {
    const again = (): void => {
      void ctx.db.query('select 1');
      ctx.client().catch((error: unknown) => refused.resolve(error));
    };
    void late.promise.then(again);
  });
  late.resolve(undefined);
  expect({ row, effects }).toMatchObject({ row: { status: 'sucesso' }, effects: 0 });
  expect(await refused.promise).toMatchObject({ code: 'TASK_ENDED' });
});

test('ctx.client() is the client of that same transaction', async () => {
  const outcome = await runOnce(async (ctx) => {
    const client = await ctx.client();
    await client.query(ownSql('insert into effect (task) values ($1)'), [ctx.task.id]);
    const { rows } = await ctx.db.query(ownSql('select step from effect where task = $1'), [ctx.task.id]);
    expect(rows).toEqual([{ step: 1 }]);
  });
  expect(outcome).toMatchObject(succeeded);
});

test('what ctx.client() did is undone with the attempt', async () => {
  const outcome = await runOnce(async (ctx) => {
    const client = await ctx.client();
    await client.query(ownSql('insert into effect (task) values ($1)'), [ctx.task.id]);
    throw new Error('no');
  });
  expect(outcome).toMatchObject(failed('no'));
});

test('a client whose error is swallowed, or whose last statement nobody awaited, fails the attempt', async () => {
  const outcome = await runOnce(async (ctx) => {
    const client = await ctx.client();
    await leaveEffect(ctx);
    client.query('select * from nowhere').catch(() => undefined);
  });
  expect(outcome).toMatchObject(failed('a statement of the handler failed and its error was swallowed'));
});

testOnPostgres('statement_timeout in a handler fails its attempt and stays in its transaction', async () => {
  const outcome = await runOnce(async (ctx) => {
    await leaveEffect(ctx);
    await ctx.db.query(`set local statement_timeout = '20ms'`);
    await ctx.db.query('select pg_sleep(600)');
  });
  expect(outcome).toMatchObject(failed('canceling statement due to statement timeout'));
});

test.each([
  { swallow: false, text: /onnection|ended by the other party/ },
  { swallow: true, text: onPostgres ? 'did not confirm the end' : 'its error was swallowed' },
])(
  'a connection that is cut in the middle fails the attempt (error swallowed: $swallow)',
  async ({ swallow, text }) => {
    const outcome = await runOnce(async (ctx) => {
      await leaveEffect(ctx);
      const { rows } = await ctx.db.query(ownSql('select pg_backend_pid() as pid'));
      await bench.pool.query(onPostgres ? 'select pg_terminate_backend($1)' : 'kill $1', [
        Number(rows[0]?.['pid']),
      ]);
      await leaveEffect(ctx, 2).catch((error: unknown) => {
        if (!swallow) throw error;
      });
    });
    expect(outcome).toMatchObject(failed(text));
  },
);
