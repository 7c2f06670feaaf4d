import { afterEach, expect, test } from 'vitest';
import { TaskHandler, type TaskContext, type TaskInput } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { startApp, useApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';
import { withClient } from '../support/with-client.js';
import { onPostgres, testOnPostgres, unlessTold } from '../support/run-database.js';

const database = await useDatabase();
const { pool } = database;
const { queue } = await useApp(database, { worker: false });

afterEach(() => pool.query('delete from tasks'));

/** Inserts alone, in a batch and as a publication; the times and statuses of the three rows. */
async function store(input: TaskInput): Promise<readonly Readonly<Record<string, unknown>>[]> {
  await queue.insertTask(input);
  await queue.insertTasks([input]);
  await queue.insertTaskPubSub({ ...input, topic: 'x' });
  const text = (column: string): string =>
    onPostgres
      ? `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')`
      : `date_format(${column}, '%Y-%m-%dT%H:%i:%s.%f')`;
  const { rows } = await pool.query<Record<string, unknown>>(
    `select ${text('data_hora')} as due, ${text('data_hora_inicial')} as first_due, status from tasks order by id`,
  );
  return rows;
}

const threeTimes = (due: string, status: string): readonly object[] =>
  Array.from({ length: 3 }, () => ({ due, first_due: due, status }));

test.each<readonly [runAt: Date | string, due: string]>([
  [new Date('2126-03-04T05:06:07.089Z'), '2126-03-04T05:06:07.089000'],
  ['2126-03-04T05:06:07.089Z', '2126-03-04T05:06:07.089000'],
  ['2126-03-04T05:06:07.123456Z', '2126-03-04T05:06:07.123456'],
  ['2126-03-04t05:06:07z', '2126-03-04T05:06:07.000000'],
  ['2126-03-04T05:06Z', '2126-03-04T05:06:00.000000'],
  ['2126-03-04T02:06:07.123456-03:00', '2126-03-04T05:06:07.123456'],
  ['2126-03-04T10:36:07+0530', '2126-03-04T05:06:07.000000'],
  ['2126-03-04T06:06:07+01', '2126-03-04T05:06:07.000000'],
  // As PostgreSQL writes it.
  ['2126-03-04 05:06:07.123456+00', '2126-03-04T05:06:07.123456'],
  ['2126-03-04 02:06:07-03', '2126-03-04T05:06:07.000000'],
])('the instant %j is when the attempt and the task are due, to the microsecond', async (runAt, due) => {
  expect(await store({ runAt })).toEqual(threeTimes(due, 'agendada'));
});

test('a time in the past is due at once, and stays what it is', async () => {
  const runAt = new Date('2001-02-03T04:05:06.007Z');
  expect(await store({ runAt })).toEqual(threeTimes('2001-02-03T04:05:06.007000', 'pendente'));
});

testOnPostgres('the same instant is stored whatever time zone the connection has', async () => {
  const due = await withClient(database, async (client) => {
    await client.query(`begin; set time zone 'Asia/Kathmandu'`);
    const id = await queue.insertTask({ runAt: '2126-03-04T05:06:07Z' }, { tx: client });
    const { rows } = await client.query<{ due: Date }>('select data_hora as due from tasks where id = $1', [
      id,
    ]);
    await client.query('commit');
    return rows[0]?.due;
  });
  expect(due).toEqual(new Date('2126-03-04T05:06:07Z'));
});

test('delayMs counts from the clock of the database', async () => {
  const { rows: before } = await pool.query<{ now: Date }>('select clock_timestamp() as now');
  await store({ delayMs: 3_600_000.5 });
  const { rows } = await pool.query<{ waits: boolean; same: boolean; status: string }>(
    `select data_hora between $1::timestamptz + interval '1 hour' and $1::timestamptz + interval '61 minutes' as waits,
       data_hora = data_hora_inicial as same, status from tasks`,
    [before[0]?.now],
  );
  expect(rows).toEqual(Array.from({ length: 3 }, () => ({ waits: true, same: true, status: 'agendada' })));
});

test('a delay of nothing is due at once', async () => {
  expect(await store({ delayMs: 0 })).toEqual(
    Array.from({ length: 3 }, () => expect.objectContaining({ status: 'pendente' })),
  );
});

testOnPostgres(
  'in a transaction it is due when it was inserted, not when the transaction began',
  async () => {
    await withClient(database, async (client) => {
      await client.query('begin; select pg_sleep(0.05)');
      await queue.insertTask({ topic: 'x' }, { tx: client });
      const { rows } = await client.query("select data_hora >= now() + interval '50 ms' as later from tasks");
      expect(rows).toEqual([{ later: true }]);
      await client.query('commit');
    });
  },
);

testOnPostgres('it runs when it is due, and not before', async () => {
  const started: number[] = [];
  class Handlers {
    @TaskHandler('greet')
    async greet(_payload: unknown, { db }: TaskContext): Promise<void> {
      const { rows } = await db.query(
        `select extract(epoch from clock_timestamp() - data_hora)::float8 as late from tasks where status = 'processando'`,
      );
      started.push(...rows.map(({ late }) => Number(late)));
    }
  }
  const worker = await startApp(database, { handlers: [Handlers], pollIntervalMs: unlessTold });
  const completed = nextEvent(worker.events, 'task.completed');
  await worker.queue.insertTask({ topic: 'greet', delayMs: 400 });
  await completed;
  expect(started).toHaveLength(1);
  expect(started[0]).toBeGreaterThanOrEqual(0);
  await worker.close();
});
