import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';

const database = await createDatabase();
const { pool } = database;

beforeAll(async () => {
  await (await startApp(database, { worker: false })).close();
});

afterAll(() => database.drop());

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

test('rows of one statement are filed each by itself', async () => {
  const { rows } = await pool.query(
    `insert into tasks (data_hora) values (now()), (now() + interval '1 day'), (null) returning status`,
  );
  expect(rows.map(({ status }) => status)).toEqual(['pendente', 'agendada', 'pendente']);
});
