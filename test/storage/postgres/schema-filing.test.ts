import { describe, expect, test } from 'vitest';
import { useDatabase } from '../../support/database.js';
import { createQueue } from '../../support/queue-app.js';

const database = await useDatabase();
const { pool } = database;
await createQueue(database);

/** Inserts a row by SQL and reads how it was filed. */
async function file(columns: string, values: string): Promise<Record<string, unknown>> {
  const { rows } = await pool.query<Record<string, unknown>>(`
    insert into tasks (${columns}) values (${values})
    returning status, tentativa, prioridade, abs(extract(epoch from clock_timestamp() - data_hora)) < 60 as now,
      data_hora = now() + interval '1 hour' as in_an_hour, data_hora = data_hora_inicial as first`);
  return rows[0] ?? {};
}

const filed = { status: 'pendente', tentativa: 1, prioridade: 50, now: true, in_an_hour: false };
const later = { ...filed, status: 'agendada', now: false, in_an_hour: true };
const soon = `now() + interval '1 hour'`;

test.each([
  ['everything left out', 'origem', `'a'`, filed],
  [
    'every column with a default null',
    'status, data_hora, data_hora_inicial, tentativa, prioridade',
    'null, null, null, null, null',
    { ...filed, first: true },
  ],
  ['the status null', 'status', 'null', filed],
  ['the time null', 'data_hora', 'null', filed],
  ['the first time null', 'data_hora_inicial', 'null', { ...filed, first: true }],
  ['the attempt null', 'tentativa', 'null', filed],
  ['the priority null', 'prioridade', 'null', filed],
  ['a future time', 'data_hora', soon, later],
  ['a future time, with the status', 'status, data_hora', `'pendente', ${soon}`, later],
  [
    'a future time, and the rest null',
    'status, data_hora, data_hora_inicial, tentativa, prioridade',
    `null, ${soon}, null, null, null`,
    { ...later, first: true },
  ],
  ['scheduled in the past', 'status, data_hora', `'agendada', now()`, { ...filed, status: 'agendada' }],
  ['given values', 'tentativa, prioridade', '3, -7', { ...filed, tentativa: 3, prioridade: -7 }],
  ['history of another program', 'status, data_hora', `'sucesso', ${soon}`, { ...later, status: 'sucesso' }],
])('an insert by SQL with %s is filed sensibly', async (_, columns, values, expected) => {
  expect(await file(columns, values)).toMatchObject(expected);
});

/** Inserts a row by SQL and reads what the library's own columns say. */
async function fileOwn(columns: string, values: string): Promise<Record<string, unknown>> {
  const { rows } = await pool.query<Record<string, unknown>>(`
    insert into tasks (${columns}) values (${values})
    returning status, reserva, perdas, rodada, executor, iniciada_em, finalizada_em, data_hora::text as due`);
  return rows[0] ?? {};
}

const own = 'reserva, perdas, rodada, executor, iniciada_em, finalizada_em';
const untouched = {
  reserva: 0,
  perdas: 0,
  rodada: 0,
  executor: null,
  iniciada_em: null,
  finalizada_em: null,
};

test.each([
  ['at their maximum', '2147483647, 2147483647, 2147483647, 9223372036854775807, now(), now()'],
  ['negative', `-1, -2147483648, -7, -1, '-infinity', 'infinity'`],
  ['null', 'null, null, null, null, null, null'],
])('what only the library writes, %s, is filed as in a new task', async (_, values) => {
  expect(await fileOwn(own, values)).toMatchObject({ status: 'pendente', ...untouched });
  expect(await fileOwn(`data_hora, ${own}`, `${soon}, ${values}`)).toMatchObject({
    status: 'agendada',
    ...untouched,
  });
});

test('history of another table keeps what it says, within what can be counted', async () => {
  const columns = 'status, reserva, perdas, rodada, executor';
  expect(await fileOwn(columns, `'falha', 3, 2, 1, 9`)).toMatchObject({
    reserva: 3,
    perdas: 2,
    rodada: 1,
    executor: '9',
  });
  expect(await fileOwn(columns, `'falha', 2147483647, 2147483647, 2147483647, 9`)).toMatchObject({
    reserva: 1_000_000_000,
    perdas: 1_000_000_000,
    rodada: 0,
  });
});

test.each([
  ['infinity', 'agendada'],
  ['-infinity', 'pendente'],
])('a producer may insert a task that is due at %s', async (due, status) => {
  expect(await fileOwn('data_hora', `'${due}'`)).toMatchObject({ status, due });
  expect(await fileOwn('data_hora, status', `'${due}', 'agendada'`)).toMatchObject({
    status: 'agendada',
    due,
  });
});

describe('a program that does not know rounds', () => {
  /** A replayed delivery: round 0 has failed, round 1 fails now. */
  async function replayed(): Promise<{ readonly first: string; readonly last: string }> {
    const publication = Math.floor(Math.random() * 1e9);
    const insert = async (columns: string, values: string): Promise<string> => {
      const { rows } = await pool.query<{ id: string }>(
        `insert into tasks (publication_id, subscriber_id, status, ${columns})
         values (${publication}, 'mail', 'falha', ${values}) returning id`,
      );
      return rows[0]?.id ?? '';
    };
    const first = await insert('estouro_tentativas, reenfileirado', 'true, true');
    const last = await insert(
      'id_inicial, id_anterior, rodada, estouro_tentativas',
      `${first}, ${first}, 1, true`,
    );
    return { first, last };
  }

  /** As nsj-queue-lib inserts it: what it copies, and nothing that it does not know. */
  const copies = (from: string, columns: string, values: string): Promise<Record<string, unknown>> =>
    pool
      .query<Record<string, unknown>>(
        `insert into tasks (publication_id, subscriber_id, ${columns})
         select publication_id, subscriber_id, ${values} from tasks where id = ${from}
         returning rodada, id::text as id`,
      )
      .then(({ rows }) => rows[0] ?? {});

  test('goes on in the round of the attempt that it follows from', async () => {
    const { first, last } = await replayed();
    expect(
      await copies(
        last,
        'id_inicial, id_anterior, tentativa, status, dead',
        `${first}, ${last}, 2, 'agendada', false`,
      ),
    ).toMatchObject({ rodada: 1 });
  });

  test('buries in the round that failed last, and what fails there again without end', async () => {
    const { first, last } = await replayed();
    let died = first;
    for (let depth = 0; depth < 4; depth += 1) {
      const dead = await copies(last, 'tentativa, dead, live_id', `1, true, ${died}`);
      expect(dead).toMatchObject({ rodada: 1 });
      died = String(dead['id']);
      await pool.query(`update tasks set status = 'falha', estouro_tentativas = true where id = ${died}`);
    }
  });
});

test('rows of one statement are filed each by itself', async () => {
  const { rows } = await pool.query(
    `insert into tasks (data_hora) values (now()), (now() + interval '1 day'), (null) returning status`,
  );
  expect(rows.map(({ status }) => status)).toEqual(['pendente', 'agendada', 'pendente']);
});
