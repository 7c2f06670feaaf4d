import { afterEach, describe, expect, test } from 'vitest';
import { TaskHandler, type QueueModuleOptions } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { LogLines } from '../support/log-lines.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';

// Bytes that no client can be sent: SQL_ASCII takes any, and WIN1252 has five that are no characters.
const encodings = [
  ['SQL_ASCII', `E'Jo\\xe3o'`],
  ['WIN1252', `E'a\\x81b'`],
] as const;

let database: TestDatabase;
const apps: QueueApp[] = [];

afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
  await database.drop();
});

const runs: string[] = [];

class Handlers {
  @TaskHandler('greet')
  greet(name: string): string {
    runs.push(name);
    return `hello ${name}`;
  }
}

const logger = new LogLines();

async function start(options: QueueModuleOptions = {}): Promise<QueueApp> {
  const app = await startApp(database, { handlers: [Handlers], logger, ...options });
  apps.push(app);
  return app;
}

/** Inserts a row by SQL, and answers its id. */
async function insert(columns: string, values: string): Promise<string> {
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into tasks (${columns}) values (${values}) returning id`,
  );
  return rows[0]?.id ?? '';
}

const ended = (count: number) =>
  until(async () => {
    const { rows } = await database.pool.query<Record<string, unknown>>(
      `select id, status, mensagem, dead, live_id, estouro_tentativas from tasks
       where status in ('sucesso', 'falha') order by id`,
    );
    return rows.length >= count && rows;
  }, `${count} ends`);

describe.each(encodings)('in a database of the encoding %s', (encoding, bytes) => {
  test('a paused route that is no text stops nothing, and what a lost worker held is recovered', async () => {
    database = await createDatabase(encoding);
    await start({ worker: false });
    await database.pool.query(`insert into tasks_paused (route) values (${bytes})`);
    const held = await insert(
      'processo, payload, chave_externa, status, executor, reserva',
      `'greet', 'odd', ${bytes}, 'processando', 4711, 1`,
    );
    const { queue } = await start({ recovery: { intervalMs: 100, confirmMs: 50, graceMs: 0 } });
    const id = await queue.insertTask({ topic: 'greet', payload: 'n' });
    const isWritten = (one: string, status: string) =>
      until(async () => {
        const { rows } = await database.pool.query('select status from tasks where id = $1', [one]);
        return rows[0]?.status === status;
      }, `attempt ${one} is ${status}`);
    expect(await isWritten(id, 'sucesso')).toBe(true);
    expect(await isWritten(held, 'falha')).toBe(true);
  });

  test.each(['payload', 'chave_externa', 'origem', 'processo', 'grupo_empresarial', 'subscriber_id'])(
    'bytes that are no text in %s: the task fails with the reason and is buried, and those beside it run',
    async (column) => {
      database = await createDatabase(encoding);
      await start({ worker: false });
      const odd = await insert(
        column === 'processo' ? 'processo' : `processo, ${column}`,
        column === 'processo' ? bytes : `'greet', ${bytes}`,
      );
      runs.length = 0;
      // By default a topic that cannot be read is nobody's: it waits, and is told of.
      const isOfNobody = column === 'processo' || column === 'subscriber_id';
      const { queue } = await start(isOfNobody ? { unknownTasks: 'fail' } : {});
      const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
      await queue.insertTasks(names.map((payload) => ({ topic: 'greet', payload })));
      const rows = await ended(22);
      const of = (id: unknown) => rows.find((row) => row['id'] === id);
      expect(of(odd)).toMatchObject({
        status: 'falha',
        mensagem: expect.stringMatching(/^cannot be read, so it was not run: .*encoding "/),
        estouro_tentativas: true,
      });
      expect(rows.find((row) => row['dead'] === true)).toMatchObject({
        live_id: odd,
        // Nobody has to read its payload to say that somebody has to look.
        status: column === 'payload' ? 'sucesso' : 'falha',
      });
      expect(runs.toSorted()).toEqual(names.toSorted());
      expect(rows.filter((row) => row['status'] === 'sucesso' && row['dead'] === false)).toHaveLength(20);
    },
  );
});

test('a payload too large to come with its claim fails its own task only, and is buried', async () => {
  database = await createDatabase('SQL_ASCII');
  const { queue } = await start({ maxAttempts: 1 });
  const odd = await insert('processo, payload', `'greet', repeat('x', 100000) || E'\\xe3'`);
  await queue.insertTask({ topic: 'greet', payload: 'beside' });
  const rows = await ended(3);
  expect(rows.find(({ id }) => id === odd)).toMatchObject({
    status: 'falha',
    mensagem: expect.stringContaining('encoding "'),
    estouro_tentativas: true,
  });
  expect(rows.find(({ dead }) => dead === true)).toMatchObject({ live_id: odd });
});

test('one that has a dead task already, inserted by hand, stops nobody else', async () => {
  database = await createDatabase('SQL_ASCII');
  await start({ worker: false });
  const odd = await insert('processo, payload', `'greet', E'\\xe3'`);
  await insert('processo, dead, live_id', `'elsewhere', true, ${odd}`);
  const { queue } = await start();
  await queue.insertTask({ topic: 'greet', payload: 'beside' });
  const rows = await ended(3);
  expect(rows.find(({ id }) => id === odd)).toMatchObject({ status: 'falha', estouro_tentativas: true });
  expect(rows.find(({ mensagem }) => mensagem === 'hello beside')).toMatchObject({ status: 'sucesso' });
});

test('one whose dead task cannot be inserted says so, and stops nobody else', async () => {
  database = await createDatabase('SQL_ASCII');
  await start({ worker: false });
  const odd = await insert('processo, payload', `'greet', E'\\xe3'`);
  await insert('processo, payload', `'greet', 'beside'`);
  // As after a copy: the next ids are taken.
  await database.pool.query(
    `insert into tasks (id, processo, status)
     select last_value + n, 'copied', 'unknown' from tasks_id_seq, generate_series(1, 100) n`,
  );
  await start();
  const rows = await ended(2);
  expect(rows).toMatchObject([
    {
      id: odd,
      status: 'falha',
      mensagem: expect.stringMatching(/^cannot be read.*; its dead task was not inserted: duplicate key/),
      estouro_tentativas: true,
    },
    { status: 'sucesso', mensagem: 'hello beside' },
  ]);
});

test('an outcome that is settled beside such a claim stays what it is', async () => {
  database = await createDatabase('SQL_ASCII');
  await start({ worker: false });
  await insert('processo, payload', `'greet', 'first'`);
  runs.length = 0;
  // One slot: the first outcome travels with the claim that cannot be answered.
  await insert('processo, payload', `'greet', E'\\xe3'`);
  await start({ concurrency: 1 });
  const rows = await ended(3);
  expect(rows[0]).toMatchObject({ status: 'sucesso', mensagem: 'hello first' });
  expect(runs).toEqual(['first']);
});

test('where any bytes are taken, a start says so', async () => {
  database = await createDatabase('SQL_ASCII');
  await start();
  expect(logger.of('warn')).toContainEqual(expect.stringContaining('SQL_ASCII, which accepts any bytes'));
});
