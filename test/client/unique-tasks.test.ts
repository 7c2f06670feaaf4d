import { expect, test } from 'vitest';
import {
  TaskDuplicateError,
  TaskHandler,
  type SqlHandle,
  type TaskContext,
  type TaskInput,
} from '../../lib/index.js';
import { connectTo, handleOf, useDatabase } from '../support/database.js';
import { startApp, useApp } from '../support/queue-app.js';
import { onPostgres } from '../support/run-database.js';
import { statusesIn } from '../support/statuses.js';
import { until } from '../support/waiting.js';

const database = await useDatabase();
const { queue } = await useApp(database, { worker: false });

test.each<readonly [TaskInput['unique'], string]>([
  ['', 'unique.key must be text, and not empty (got "")'],
  [{ key: 7 } as never, 'unique.key must be text, and not empty (got 7)'],
  [{ key: 'a', while: 'ever' } as never, "unique.while must be 'live' or 'pending' (got \"ever\")"],
  [{ key: 'a', window: '' }, 'unique.window must be the name of a period as text'],
  [{ key: 'a', window: 'b@c' }, 'unique.window must be the name of a period as text without @'],
  [{ key: 'a', window: 'b', while: 'live' }, 'unique.while must not be given together with window'],
  [{ key: 'a', onConflict: 'merge' } as never, "unique.onConflict must be 'reject', 'return' or 'replace'"],
  [{ key: 'a', onConflict: 'replace' }, "give while: 'pending'"],
  [{ key: 'a', onConflict: 'replace', window: 'b' }, "give while: 'pending'"],
  [
    { key: 'a', onconflict: 'return' } as never,
    "unique has no field 'onconflict': did you mean 'onConflict'?",
  ],
  ['x'.repeat(199), 'unique.key is too long'],
])('%j is refused', async (unique, message) => {
  await expect(queue.insertTask({ unique })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message: expect.stringContaining(message) as unknown,
  });
});

test('among many tasks a key that would leave some out in silence is refused, with its place', async () => {
  await expect(queue.insertTasks([{}, { unique: 'a' }])).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message: expect.stringMatching(/task 1 of the batch: unique.onConflict must be 'return'/) as unknown,
  });
});

test('a duplicate is an error with the id of the other task, of publications as well', async () => {
  const publication = { topic: 'told', unique: { key: 'told', window: 'today' } };
  const id = await queue.insertTaskPubSub(publication);
  const error: unknown = await queue.insertTaskPubSub(publication).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(TaskDuplicateError);
  expect(error).toMatchObject({ code: 'TASK_DUPLICATE', id, key: 'told' });
  expect((error as Error).message).toBe(`task ${id} has the unique key "told"; nothing was inserted`);
});

test('beside workers, sixty-four inserters never have two tasks of a key run at once, and lose none', async () => {
  const running = new Set<string>();
  const done: string[] = [];
  class Handlers {
    @TaskHandler('once', { concurrency: 20 })
    async once(key: string): Promise<void> {
      if (running.has(key)) throw new Error(`two tasks of ${key} run`);
      running.add(key);
      await new Promise(setImmediate);
      running.delete(key);
      done.push(key);
    }
  }
  const { close } = await startApp(database, { handlers: [Handlers], maxAttempts: 1 });
  try {
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, async (_, inserter) => {
        const ids: string[] = [];
        for (let n = 0; n < 10; n += 1) {
          const key = `key-${(inserter + n) % 4}`;
          ids.push(
            await queue.insertTask({ topic: 'once', payload: key, unique: { key, onConflict: 'return' } }),
          );
        }
        return ids;
      }),
    );
    const ids = [...new Set(outcomes.flat())];
    const statuses = (): Promise<readonly string[]> => statusesIn(database.pool, `processo = 'once'`);
    await until(async () => (await statuses()).every((status) => status === 'sucesso'), 'all have succeeded');
    expect((await statuses()).length).toBe(ids.length);
    expect(done.length).toBe(ids.length);
  } finally {
    await close();
  }
});

/** What a row says, and what its handler was given. */
interface Ran {
  readonly id: string;
  readonly payload: unknown;
}

/** Sixty-four inserters, ten inserts of four keys each, beside a worker; returns what ran, when all that is there has succeeded. */
async function race(
  insert: (
    key: string,
    payload: string,
    by: { readonly inserter: number; readonly n: number },
  ) => Promise<unknown>,
): Promise<readonly Ran[]> {
  await database.pool.query('delete from tasks');
  const ran: Ran[] = [];
  class Handlers {
    @TaskHandler('raced', { concurrency: 20 })
    async raced(payload: unknown, { task: { id } }: TaskContext): Promise<void> {
      await new Promise(setImmediate);
      ran.push({ id, payload });
    }
  }
  // Transactions of MySQL ring nobody.
  const { close } = await startApp(database, { handlers: [Handlers], maxAttempts: 1, pollIntervalMs: 1_000 });
  try {
    await Promise.all(
      Array.from({ length: 64 }, async (_, inserter) => {
        for (let n = 0; n < 10; n += 1)
          await insert(`raced-${(inserter + n) % 4}`, `${inserter}, ${n}`, { inserter, n });
      }),
    );
    await until(
      async () => (await raced()).every(({ status }) => status === 'sucesso'),
      'all have succeeded',
    );
  } finally {
    await close();
  }
  return ran;
}

async function raced(): Promise<{ id: string; payload: string; status: string }[]> {
  const list = `select id, payload, status from tasks where processo = 'raced'`;
  const { rows } = await database.pool.query<{ id: string; payload: string; status: string }>(list);
  return rows;
}

const byId = <One extends { readonly id: string }>(list: readonly One[]): One[] =>
  list.toSorted((one, other) => Number(one.id) - Number(other.id));

test('of sixty-four inserters each is told its own task, or that of the key which is there', async () => {
  const inserted: Ran[] = [];
  const others: string[] = [];
  const ran = await race(async (key, payload) => {
    try {
      inserted.push({ id: await queue.insertTask({ topic: 'raced', payload, unique: key }), payload });
    } catch (error) {
      if (!(error instanceof TaskDuplicateError)) throw error;
      others.push(error.id);
    }
  });
  expect(inserted.length + others.length).toBe(640);
  expect(byId(ran)).toEqual(byId(inserted));
  expect((await raced()).length).toBe(inserted.length);
  const ids = new Set(inserted.map(({ id }) => id));
  expect(others.filter((id) => !ids.has(id))).toEqual([]);
});

test('of sixty-four inserters none replaces a task that has started, and what is replaced runs once, as it is in the end', async () => {
  const ids = new Set<string>();
  const ran = await race(async (key, payload) => {
    const unique = { key, while: 'pending', onConflict: 'replace' } as const;
    ids.add(await queue.insertTask({ topic: 'raced', payload, unique }));
  });
  const rows = (await raced()).map(({ id, payload }) => ({ id, payload }));
  expect(byId(ran)).toEqual(byId(rows));
  expect(new Set(rows.map(({ id }) => id))).toEqual(ids);
});

/** What a server says of a transaction that it has undone because of others. */
const isUndone = (error: unknown): boolean =>
  [1213, 1020].includes(Number((error as { errno?: unknown }).errno));

/**
 * {@link race} of transactions that write something of their own as well, of which every other one is rolled back while others wait
 * for its key; those that the server undoes are repeated.
 *
 * @param insert returns what to do once it is committed
 */
async function raceInTransactions(
  insert: (tx: SqlHandle, key: string, payload: string) => Promise<() => void>,
): Promise<readonly Ran[]> {
  const clients = await Promise.all(Array.from({ length: 64 }, () => connectTo(database)));
  const committed: string[] = [];
  await database.pool.query('create table orders (payload varchar(20) not null)');
  try {
    const ran = await race(async (key, payload, { inserter, n }) => {
      const client = clients[inserter]!;
      const tries = async (): Promise<void> => {
        // The level that is the server's default.
        await client.query(`begin isolation level ${onPostgres ? 'read committed' : 'repeatable read'}`);
        const note = await insert(handleOf(client), key, payload);
        await client.query('insert into orders (payload) values ($1)', [payload]);
        if (n % 2 === 1) return void (await client.query('rollback'));
        await client.query('commit');
        committed.push(payload);
        note();
      };
      for (let isDone = false; !isDone;) {
        isDone = await tries().then(
          () => true,
          async (error: unknown) => {
            await client.query('rollback');
            if (!isUndone(error)) throw error;
            return false;
          },
        );
      }
    });
    expect(committed.length).toBe(320);
    const { rows } = await database.pool.query<{ payload: string }>('select payload from orders');
    expect(rows.map(({ payload }) => payload).toSorted()).toEqual(committed.toSorted());
    return ran;
  } finally {
    await Promise.all(clients.map((client) => client.end()));
    await database.pool.query('drop table orders');
  }
}

test.each(['reject', 'return', 'replace'] as const)(
  'of sixty-four inserters whose transactions are rolled back by half each is told what is there, and that runs once (%s)',
  async (onConflict) => {
    const [kept, others] = [new Set<string>(), new Set<string>()];
    const span = onConflict === 'replace' ? 'pending' : 'live';
    const ran = await raceInTransactions(async (tx, key, payload) => {
      try {
        const unique = { key, while: span, onConflict } as const;
        const id = await queue.insertTask({ topic: 'raced', payload, unique }, { tx });
        return () => kept.add(id);
      } catch (error) {
        if (!(error instanceof TaskDuplicateError)) throw error;
        others.add(error.id);
        return () => undefined;
      }
    });
    const rows = (await raced()).map(({ id, payload }) => ({ id, payload }));
    expect(byId(ran)).toEqual(byId(rows));
    expect(new Set(rows.map(({ id }) => id))).toEqual(kept);
    expect([...others].filter((id) => !kept.has(id))).toEqual([]);
  },
);
