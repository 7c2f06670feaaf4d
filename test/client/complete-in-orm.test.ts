import { Injectable } from '@nestjs/common';
import knexModule, { type Knex } from 'knex';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fromKnex, fromTypeOrm, TaskHandler, type SqlHandle, type TaskContext } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';

let database: TestDatabase;
let app: QueueApp;
let dataSource: DataSource;
let knex: Knex;
/** What happens between the handler's row and the end of its task. */
let meanwhile: (ctx: TaskContext) => Promise<unknown>;

@Injectable()
class Handlers {
  @TaskHandler('typeorm', { maxAttempts: 1 })
  typeOrm(_payload: unknown, ctx: TaskContext): Promise<void> {
    return dataSource.transaction((manager) => work(ctx, fromTypeOrm(manager)));
  }

  @TaskHandler('knex', { maxAttempts: 1 })
  knex(_payload: unknown, ctx: TaskContext): Promise<void> {
    return knex.transaction((trx) => work(ctx, fromKnex(trx)));
  }
}

async function work(ctx: TaskContext, tx: SqlHandle): Promise<void> {
  await tx.query('insert into effect (task_id) values ($1::text::bigint)', [ctx.task.id]);
  await meanwhile(ctx);
  await ctx.completeIn(tx, { done: true });
}

beforeAll(async () => {
  database = await createDatabase();
  await database.pool.query('create table effect (task_id bigint not null)');
  dataSource = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  knex = knexModule({ client: 'pg', connection: database.url, pool: { min: 0, max: 2 } });
  app = await startApp(database, { handlers: [Handlers] });
});

beforeEach(() => {
  meanwhile = async () => undefined;
});

afterAll(async () => {
  await app.close();
  await dataSource.destroy();
  await knex.destroy();
  await database.drop();
});

test.each(['typeorm', 'knex'])('%s: the task ends with the transaction of the library', async (topic) => {
  const completed = nextEvent(app.events, 'task.completed', ({ task }) => task.topic === topic);
  const id = await app.queue.insertTask({ topic });
  await completed;
  expect(await read(id)).toEqual({ status: 'sucesso', resultado: '{"done":true}', effects: 1 });
});

test.each(['typeorm', 'knex'])(
  '%s: an attempt that was lost meanwhile keeps none of its work',
  async (topic) => {
    // As if another worker had recovered it and claimed it again.
    meanwhile = ({ task }) =>
      database.pool.query('update tasks set reserva = reserva + 1 where id = $1', [task.id]);
    const lost = nextEvent(app.events, 'task.lost', ({ task }) => task.topic === topic);
    const id = await app.queue.insertTask({ topic });
    await lost;
    expect(await read(id)).toEqual({ status: 'processando', resultado: null, effects: 0 });
  },
);

async function read(id: string): Promise<unknown> {
  const { rows } = await database.pool.query(
    `select status, resultado, (select count(*)::int from effect where task_id = t.id) as effects
     from tasks t where id = $1`,
    [id],
  );
  return rows[0];
}
