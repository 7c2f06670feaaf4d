import { describe, expect, test } from 'vitest';
import {
  DeadTaskHandler,
  QueueAdmin,
  Subscriber,
  TaskHandler,
  type QueueModuleOptions,
} from '../../lib/index.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue, type QueueBench } from './queue-bench.js';

// After a dump of the data alone, or a copy, the sequence is behind the ids: the next row of the library's is refused.
const layouts: readonly (readonly [string, QueueModuleOptions])[] = [
  ['plain', { layout: 'plain' }],
  ['partitioned', { layout: { partitionIds: 20 } }],
];

describe.each(layouts)('in a %s table', (_, layout) => {
  const bench = useQueue('tasks_schedule');
  let release = (): void => undefined;
  let released = Promise.resolve();

  class Handlers {
    @TaskHandler('failing', { maxAttempts: 3 })
    @TaskHandler('dying', { maxAttempts: 1 })
    async fail(): Promise<void> {
      await released;
      throw new Error('boom');
    }
    @TaskHandler('working')
    async work(): Promise<void> {
      await released;
    }
    @DeadTaskHandler()
    dead(): void {}
    @Subscriber('index', { topic: 'told' })
    index(): void {}
  }

  const start = (options: QueueModuleOptions = {}) =>
    bench.start({ handlers: [Handlers], retryIntervalMinutes: 0, ...layout, ...options });

  /** Handlers wait until they are released. */
  function hold(): void {
    released = new Promise((resolve) => (release = resolve));
  }

  test('a failure that meets a taken id loses nothing: three attempts and the dead handler', async () => {
    const { queue } = await start();
    // The first attempt gets the id before the taken one.
    await bench.pool.query(
      `insert into tasks (id, processo, status, finalizada_em)
       select nextval('tasks_id_seq') + 2, 'old', 'sucesso', now()`,
    );
    const id = await queue.insertTask({ topic: 'failing' });
    const chain = await bench.endedChain(id, 4);
    expect(chain.map(({ status, tentativa, dead, mensagem }) => [status, tentativa, dead, mensagem])).toEqual(
      [
        ['falha', 1, false, 'boom (will be tried again)'],
        ['falha', 2, false, 'boom (will be tried again)'],
        ['falha', 3, false, 'boom (no attempts left)'],
        ['sucesso', 1, true, 'completed'],
      ],
    );
    expect(await unfollowed(bench)).toEqual([]);
  });

  test.each([
    ['failing', 4],
    ['dying', 2],
  ])(
    '%s: while ids are taken the attempt stays, others end, a warning has the SQL that mends it',
    async (topic, attempts) => {
      hold();
      const { queue, events } = await start();
      const [stuck = '', other = ''] = await queue.insertTasks([{ topic }, { topic: 'working' }]);
      await takeIds(bench, 1_000);
      const told = nextEvent(events, 'warning', ({ message }) => message.startsWith(`attempt ${stuck} `));
      release();
      const { message } = await told;
      expect(message).toMatch(
        /but its failure cannot be recorded: id \d+ of public\.tasks is already taken: the sequence is/,
      );
      expect(await bench.ended(other)).toMatchObject({ status: 'sucesso' });
      expect(await bench.chain(stuck)).toMatchObject([{ status: 'processando', reenfileirado: false }]);
      await bench.pool.query(sqlOf(message));
      expect(await bench.endedChain(stuck, attempts)).toHaveLength(attempts);
      expect(await unfollowed(bench)).toEqual([]);
    },
  );

  test('a publication whose deliveries meet taken ids is not lost', async () => {
    const { queue, events, worker } = await start({ autoStart: false });
    const id = await queue.insertTaskPubSub({ topic: 'told' });
    await takeIds(bench, 1_000);
    const told = nextEvent(events, 'warning', ({ message }) => message.startsWith(`attempt ${id} `));
    await worker.start();
    const { message } = await told;
    expect(await bench.chain(id)).toMatchObject([{ status: 'processando', reenfileirado: false }]);
    await bench.pool.query(sqlOf(message));
    await bench.endedChain(id, 2);
    const { rows } = await bench.pool.query<{ id: string }>(
      'select id from tasks where publication_id = $1',
      [id],
    );
    expect(rows).toHaveLength(1);
    expect(await bench.ended(rows[0]?.id ?? '')).toMatchObject({ status: 'sucesso' });
  });

  test('a schedule whose task meets taken ids says what mends it, and makes the task then', async () => {
    const { app, events, worker } = await start({ autoStart: false });
    const { schedules } = app.get(QueueAdmin);
    await schedules.add({ id: 'often', every: 1_000, task: { topic: 'working' } });
    await takeIds(bench, 1_000);
    const told = nextEvent(events, 'warning', ({ message }) => message.includes(`the schedule 'often'`));
    await worker.start();
    const { message } = await told;
    expect(message).toMatch(
      /cannot be inserted and will be retried: id \d+ of public\.tasks is already taken: the sequence is/,
    );
    await bench.pool.query(sqlOf(message));
    const completed = nextEvent(events, 'task.completed');
    // A change makes it look.
    await schedules.add({ id: 'other', cron: '0 3 * * *', task: {} });
    expect(await completed).toMatchObject({ task: { topic: 'working' } });
  });

  test('a start says that the sequence is behind, until that is mended', async () => {
    await (await start()).close();
    await takeIds(bench, 1_000);
    const warnings = async (): Promise<readonly string[]> => {
      const told: string[] = [];
      const { close } = await bench.start({
        ...layout,
        logger: { log() {}, error() {}, warn: (text: unknown) => void told.push(String(text)) },
      });
      await close();
      return told.filter((text) => text.includes('sequence'));
    };
    const [warning = '', ...others] = await warnings();
    expect(others).toEqual([]);
    expect(warning).toMatch(
      /the sequence public\.tasks_id_seq will return id \d+ next, but public\.tasks has ids up to \d+/,
    );
    await bench.pool.query(sqlOf(warning));
    expect(await warnings()).toEqual([]);
  });

  test('a retry says that ids are taken', async () => {
    const { app, queue } = await start();
    const admin = app.get(QueueAdmin, { strict: false });
    const id = await queue.insertTask({ topic: 'working', delayMs: 3_600_000 });
    await admin.cancel(id);
    await takeIds(bench, 1_000);
    await expect(admin.retry(id)).rejects.toThrow(
      /id \d+ of public\.tasks is already taken: the sequence is behind/,
    );
  });
});

async function takeIds({ pool }: QueueBench, count: number): Promise<void> {
  await pool.query(
    `insert into tasks (id, processo, status, finalizada_em)
     select last_value + n, 'old', 'sucesso', now() from tasks_id_seq, generate_series(1, $1::int) n`,
    [count],
  );
}

/** What a warning has between its backticks. */
function sqlOf(warning: string): string {
  const [, sql] = /`(select setval[^`]*)`/.exec(warning) ?? [];
  if (sql === undefined) throw new Error(`no SQL in: ${warning}`);
  return sql;
}

async function unfollowed({ pool }: QueueBench): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from tasks f where reenfileirado and not exists (select from tasks n where n.id_anterior = f.id)`,
  );
  return rows.map(({ id }) => id);
}
