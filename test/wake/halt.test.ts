import { afterAll, beforeAll, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import { deferred, nextEvent, until } from '../support/waiting.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

test('scenario 64: a ring that says HALT stops the workers after their current work', async () => {
  const started = deferred();
  const end = deferred();
  class Handlers {
    @TaskHandler('hold')
    async hold(_: unknown, { signal }: TaskContext): Promise<string> {
      started.resolve();
      await end.promise;
      return signal.aborted ? 'aborted' : 'ended in peace';
    }
  }
  const options = { handlers: [Handlers], pollIntervalMs: 0 };
  const worker = await startApp(database, options);
  const stopped = nextEvent(worker.events, 'worker.stopped');
  await worker.queue.insertTask({ topic: 'hold' });
  await started.promise;
  const idle = await startApp(database, options);
  const idleStopped = nextEvent(idle.events, 'worker.stopped');

  await database.pool.query(`notify tasks, 'HALT'`);
  expect(await idleStopped).toMatchObject({ unfinished: 0 });
  // Whoever stops claims nothing more.
  await worker.queue.insertTask({ topic: 'hold', payload: 'too late' });
  end.resolve();
  expect(await stopped).toMatchObject({ unfinished: 0 });
  const { rows } = await database.pool.query('select status, mensagem from tasks order by id');
  expect(rows).toEqual([
    { status: 'sucesso', mensagem: 'ended in peace' },
    { status: 'pendente', mensagem: null },
  ]);
  await until(async () => {
    const sessions = await database.pool.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'tarefa session'`,
    );
    return sessions.rowCount === 0;
  }, 'the end of their sessions');
  await Promise.all([worker.close(), idle.close()]);
});

test('a ring of another maker is just a ring', async () => {
  const ran = deferred<unknown>();
  class Handlers {
    @TaskHandler('note')
    note(payload: unknown): void {
      ran.resolve(payload);
    }
  }
  await database.pool.query('truncate tasks');
  const worker = await startApp(database, { handlers: [Handlers], pollIntervalMs: 0 });
  await database.pool.query(
    `begin; set local tarefa.quiet = 'on'; insert into tasks (processo, payload) values ('note', 'x'); commit`,
  );
  await database.pool.query('notify tasks');
  expect(await ran.promise).toBe('x');
  await worker.close();
});
