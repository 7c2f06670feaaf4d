import { afterEach, beforeEach, expect, test } from 'vitest';
import { QueueAdmin, TaskHandler } from '../../lib/index.js';
import { listen } from '../support/listening.js';
import { onPostgres, testOnPostgres } from '../support/run-database.js';
import { nextEvent, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

// The library's own inserts are exempt from a table's triggers: those of its queue, and no other rows.

const bench = useQueue('tasks_schedule');

class Handlers {
  @TaskHandler('fails', { maxAttempts: 2, retryDelayMs: 60_000 })
  fails(): never {
    throw new Error('no');
  }

  @TaskHandler('dies', { maxAttempts: 1 })
  dies(): never {
    throw new Error('no');
  }
}

const written = `'note', case when new.id_anterior is not null then 61 when new.dead then 62 when new.subscriber_id is not null then 63 else 60 end, 5, 7`;

beforeEach(async () => {
  await (await bench.start({ queue: 'other', worker: false })).close();
  await (await bench.start({ worker: false })).close();
  await onInsert(`insert into other (processo, prioridade, reserva, perdas) values (${written})`);
});

afterEach(async () => {
  await bench.pool.query(onPostgres ? 'drop function note cascade' : 'drop trigger note');
  await bench.pool.query('truncate other');
});

/** What is done for each row that is inserted into `tasks`. */
async function onInsert(statement: string): Promise<void> {
  await bench.pool.query(
    onPostgres
      ? `create function note() returns trigger language plpgsql as $$ begin ${statement}; return null; end $$;
         create trigger note after insert on tasks for each row execute function note()`
      : `create trigger note after insert on tasks for each row begin ${statement}; end`,
  );
}

const start = () => bench.start({ handlers: [Handlers], unknownTasks: 'leave' });

type App = Awaited<ReturnType<typeof start>>;

const subscribe = `insert into tasks_subscriber (id, processo) values ('somebody', 'news')`;

const inserts: readonly (readonly [string, number, (app: App) => Promise<unknown>])[] = [
  ['a task alone', 60, ({ queue }) => queue.insertTask({ topic: 'x' })],
  ['many tasks', 60, ({ queue }) => queue.insertTasks([{ topic: 'x' }, { topic: 'x' }])],
  ['a next attempt', 61, ({ queue }) => queue.insertTask({ topic: 'fails' })],
  ['a dead task', 62, ({ queue }) => queue.insertTask({ topic: 'dies' })],
  [
    'what recurs',
    60,
    ({ app }) => app.get(QueueAdmin).schedules.add({ id: 'often', every: 1_000, task: { topic: 'x' } }),
  ],
  [
    'a delivery',
    63,
    async ({ queue }) => {
      await bench.pool.query(subscribe);
      await queue.insertTaskPubSub({ topic: 'news' });
    },
  ],
];

test.each(inserts)(
  'what a trigger inserts into another queue for %s is filed',
  async (_, priority, insert) => {
    await insert(await start());
    const [row] = await until(async () => {
      const { rows } = await bench.pool.query('select reserva, perdas from other where prioridade = $1', [
        priority,
      ]);
      return rows.length > 0 && rows;
    }, 'the note');
    expect(row).toEqual({ reserva: 0, perdas: 0 });
  },
);

testOnPostgres.each(inserts)('and rung for: %s', async (_, priority, insert) => {
  const bell = await listen(bench.database, 'other');
  await insert(await start());
  await until(
    async () => (await bell.heard()).some((text) => text.includes(` ${priority} "t:note"`)),
    'the ring of the other queue',
  );
  await bell.close();
});

testOnPostgres(
  'a task inserted in a transaction of the user is rung for once, and so is the note',
  async () => {
    const { queue } = await start();
    const [bell, other] = [await listen(bench.database, 'tasks'), await listen(bench.database, 'other')];
    const client = await bench.connect();
    await client.query('begin');
    await queue.insertTask({ topic: 'x', priority: 40 }, { tx: client });
    await client.query('commit');
    expect(await other.heard()).toEqual([expect.stringContaining(' 60 "t:note"')]);
    expect(await bell.heard()).toEqual([expect.stringContaining(' 40 "t:x"')]);
    await Promise.all([bell.close(), other.close()]);
  },
);

testOnPostgres('what a trigger inserts into its own queue is filed, and rung for', async () => {
  await bench.pool.query('drop function note cascade');
  await onInsert(
    `if new.processo <> 'alert' and new.id_anterior is not null then
       insert into tasks (processo, prioridade, reserva) values ('alert', 66, 5);
     end if`,
  );
  const bell = await listen(bench.database, 'tasks');
  const { queue, events } = await start();
  const failed = nextEvent(events, 'task.failed');
  await queue.insertTask({ topic: 'fails' });
  await failed;
  expect(await bell.heard()).toContainEqual(expect.stringMatching(/^\d+ 66 "t:alert"$/));
  const { rows } = await bench.pool.query(`select reserva from tasks where processo = 'alert'`);
  expect(rows).toEqual([{ reserva: 0 }]);
  await bell.close();
});
