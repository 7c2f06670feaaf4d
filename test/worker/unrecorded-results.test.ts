import { beforeAll, expect, test } from 'vitest';
import { DeadTaskHandler, QueueAdmin, Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import { handleOf } from '../support/database.js';
import { ownSql } from '../support/run-database.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

// What a handler returns comes after its work: that it cannot be recorded must neither undo nor repeat the work.
const bench = useQueue();

beforeAll(() => bench.pool.query('create table effect (task bigint not null)'));

const leaveEffect = ({ db, task }: TaskContext) =>
  db.query(ownSql('insert into effect values ($1)'), [task.id]);
/** As a row of a library that reads 64 bits into a BigInt. */
const row: unknown = { id: 1n };
const reason =
  'result not recorded: it cannot be written as JSON: TypeError: Do not know how to serialize a BigInt';

const runs: string[] = [];

class Handlers {
  @TaskHandler('plain')
  plain(_: unknown, { task }: TaskContext): unknown {
    runs.push(task.id);
    return row;
  }

  @TaskHandler('transaction')
  async inTransaction(payload: unknown, ctx: TaskContext): Promise<unknown> {
    await leaveEffect(ctx);
    return this.plain(payload, ctx);
  }

  @TaskHandler('grouped', { grouped: true })
  async inGroup(payload: unknown, ctx: TaskContext): Promise<unknown> {
    return this.inTransaction(payload, ctx);
  }

  @TaskHandler('elsewhere')
  async elsewhere(payload: unknown, ctx: TaskContext): Promise<void> {
    this.plain(payload, ctx);
    const tx = await bench.connect();
    await tx.query('begin');
    await tx.query('insert into effect values ($1)', [ctx.task.id]);
    await ctx.completeIn(handleOf(tx), row);
    await tx.query('commit');
  }

  @Subscriber('delivered', { topic: 'news' })
  delivered(payload: unknown, ctx: TaskContext): unknown {
    return this.plain(payload, ctx);
  }

  @TaskHandler('buried', { maxAttempts: 1 })
  fail(): never {
    throw new Error('bury me');
  }

  @DeadTaskHandler('buried')
  dead(payload: unknown, ctx: TaskContext): unknown {
    return this.plain(payload, ctx);
  }
}

/** Runs one task; returns its last row once it has ended, and what was warned of. */
async function run(topic: string) {
  runs.length = 0;
  const { app, queue, events } = await bench.start({ handlers: [Handlers] });
  const warned = nextEvent(events, 'warning', ({ message }) => message.includes('not recorded'));
  const completed = nextEvent(events, 'task.completed', ({ message }) => message.includes('not recorded'));
  await (topic === 'news' ? queue.insertTaskPubSub({ topic }) : queue.insertTask({ topic }));
  const { task, message } = await completed;
  const ended = await bench.ended(task.id);
  const { rows: effects } = await bench.pool.query('select from effect where task = $1', [task.id]);
  return {
    ended,
    message,
    warning: (await warned).message,
    effects: effects.length,
    admin: app.get(QueueAdmin),
  };
}

test.each([
  ['plain', 0],
  ['transaction', 1],
  ['grouped', 1],
  ['elsewhere', 1],
  ['news', 0],
  ['buried', 0],
] as const)(
  'a result that JSON cannot hold leaves the task succeeded, and says why: %s',
  async (topic, effects) => {
    const { ended, message, warning, ...left } = await run(topic);
    expect(ended).toMatchObject({ status: 'sucesso', mensagem: reason, resultado: null });
    expect(message).toBe(reason);
    // Each has one attempt only, so it is named by that.
    expect(warning).toContain(`task ${ended.id} (`);
    expect(warning).toContain(`has succeeded; ${reason}`);
    expect(runs).toEqual([ended.id]);
    expect(left.effects).toBe(effects);
  },
);

test('who waits for the task is told why there is no result', async () => {
  const { ended, admin } = await run('plain');
  expect(await admin.waitFor(ended.id)).toMatchObject({
    status: 'succeeded',
    message: reason,
    returned: undefined,
  });
});

test('a result that the database refuses leaves the task succeeded, and those beside it as they are', async () => {
  await bench.pool.query('alter table tasks add constraint short check (length(resultado) < 20)');
  try {
    runs.length = 0;
    class Lengths {
      @TaskHandler('length')
      length(length: string): unknown {
        runs.push(length);
        return ['x'.repeat(Number(length))];
      }
    }
    const { queue, events } = await bench.start({ handlers: [Lengths] });
    const warned = nextEvent(events, 'warning', ({ message }) => message.includes('not recorded'));
    const ids = await queue.insertTasks(['1', '100', '2'].map((payload) => ({ topic: 'length', payload })));
    const rows = await Promise.all(ids.map((id) => bench.ended(id)));
    expect(rows.map(({ status, resultado }) => [status, resultado])).toEqual([
      ['sucesso', '["x"]'],
      ['sucesso', null],
      ['sucesso', '["xx"]'],
    ]);
    expect(rows[1]?.mensagem).toMatch(/^result not recorded: it was refused by the database: .*short/);
    expect((await warned).message).toContain(rows[1]?.mensagem);
    expect(runs.toSorted()).toEqual(['1', '100', '2']);
  } finally {
    await bench.pool.query('alter table tasks drop constraint short');
  }
});
