import { Injectable } from '@nestjs/common';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { useApp } from '../support/queue-app.js';
import { deferred, nextEvent } from '../support/waiting.js';
import { openLibraries } from './libraries.js';

const database = await useDatabase();
await database.pool.query('create table effect (task_id bigint not null)');
await database.pool.query('create table orders (id text primary key)');
const libraries = await openLibraries(database);
afterAll(() => libraries.close());

/** What happens before and after the handler says that its task is done. */
let before: (ctx: TaskContext) => Promise<unknown>;
let after: () => void;
/** What the handler does with the error that ended its transaction. */
let caught: (error: unknown) => void;

@Injectable()
class Handlers {
  @TaskHandler({ maxAttempts: 1 })
  async work(_payload: unknown, ctx: TaskContext): Promise<void> {
    const transaction = libraries.transactions[ctx.task.topic ?? ''];
    if (!transaction) throw new Error(`no transaction of ${ctx.task.topic}`);
    const ending = transaction(async (tx) => {
      await tx.query('insert into effect (task_id) values ($1::text::bigint)', [ctx.task.id]);
      await before(ctx);
      await ctx.completeIn(tx, { done: true });
      after();
    });
    await ending.catch(caught);
  }
}

const app = await useApp(database, { handlers: [Handlers] });

beforeEach(() => {
  before = async () => undefined;
  after = () => undefined;
  caught = rethrow;
});

describe.each(Object.keys(libraries.transactions))('ctx.completeIn with %s', (topic) => {
  test('the task ends with its transaction', async () => {
    const completed = nextEvent(app.events, 'task.completed', ({ task }) => task.topic === topic);
    const id = await app.queue.insertTask({ topic });
    await completed;
    expect(await read(id)).toMatchObject({ status: 'sucesso', resultado: '{"done":true}', effects: 1 });
  });

  test.each([
    ['which says why', rethrow, 'changed my mind'],
    ['and says so when the error was swallowed', ignore, 'given to ctx.completeIn was not committed'],
  ])('a transaction that it rolls back fails the attempt, %s', async (_, treat, text) => {
    after = () => {
      throw new Error('changed my mind');
    };
    caught = treat;
    const failed = nextEvent(app.events, 'task.failed', ({ task }) => task.topic === topic);
    const id = await app.queue.insertTask({ topic });
    await failed;
    const mensagem = expect.stringContaining(text) as unknown;
    expect(await read(id)).toEqual({ status: 'falha', mensagem, resultado: null, effects: 0 });
  });

  test('an attempt that was lost meanwhile is refused, and keeps none of its work', async () => {
    const refusal = deferred<unknown>();
    // As if another worker had recovered it and claimed it again.
    before = ({ task }) =>
      database.pool.query('update tasks set reserva = reserva + 1 where id = $1', [task.id]);
    after = () => refusal.resolve('accepted');
    caught = (error) => {
      refusal.resolve(error);
      throw error;
    };
    const lost = nextEvent(app.events, 'task.lost', ({ task }) => task.topic === topic);
    const id = await app.queue.insertTask({ topic });
    expect(await refusal.promise).toMatchObject({ code: 'TASK_LOST' });
    await lost;
    expect(await read(id)).toEqual({ status: 'processando', mensagem: null, resultado: null, effects: 0 });
  });
});

function rethrow(error: unknown): void {
  throw error;
}

function ignore(): void {}

async function read(id: string): Promise<unknown> {
  const { rows } = await database.pool.query(
    `select status, mensagem, resultado, (select count(*)::int from effect where task_id = t.id) as effects
     from tasks t where id = $1`,
    [id],
  );
  return rows[0];
}
