import { createHash } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import type { QueueClient, TaskInput } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { useApp } from '../support/queue-app.js';

const database = await useDatabase();
const { pool } = database;
const { queue } = await useApp(database, { worker: false });

afterEach(() => pool.query('delete from tasks; alter sequence tasks_id_seq restart with 1'));

type Row = Readonly<Record<string, unknown>>;

async function rows(): Promise<readonly Row[]> {
  return (
    await pool.query<Row>(`
    select *, abs(extract(epoch from clock_timestamp() - data_hora)) < 60 as due_now, data_hora = data_hora_inicial as first_due
    from tasks order by id`)
  ).rows;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** What the contract says of every column of a row that a producer inserts with nothing but defaults. */
const defaults = {
  id_inicial: null,
  data_hora_inicial: expect.any(Date),
  data_hora: expect.any(Date),
  origem: null,
  destino: null,
  processo: null,
  chave_externa: null,
  proxima_tentativa: null,
  tentativa: 1,
  status: 'pendente',
  reenfileirado: false,
  estouro_tentativas: false,
  mensagem: null,
  id_anterior: null,
  data_hora_anterior: null,
  status_anterior: null,
  mensagem_anterior: null,
  payload: null,
  tenant: null,
  grupo_empresarial: null,
  payload_hash: null,
  pub_sub: false,
  publication_id: null,
  subscriber_id: null,
  dead: false,
  live_id: null,
  prioridade: 50,
  executor: null,
  reserva: 0,
  rodada: 0,
  perdas: 0,
  iniciada_em: null,
  finalizada_em: null,
  resultado: null,
  erro: null,
  metadados: null,
  chave_unica: null,
  chave_fila: null,
  limite: null,
  lote: null,
  prazo: null,
  consumidor: null,
  cancelada_por: null,
  due_now: true,
  first_due: true,
};

const whole = {
  topic: 'order-placed',
  payload: { id: 7, note: 'naïve 🍵' },
  externalKey: 'order-7',
  origin: 'shop',
  destination: 'post',
  tenant: '9007199254740993',
  group: 'north',
  priority: 90,
  metadata: { trace: 'abc', nested: { list: [1, null] } },
} as const satisfies TaskInput;

const text = '{"id":7,"note":"naïve 🍵"}';
const wholeRow = {
  ...defaults,
  origem: 'shop',
  destino: 'post',
  processo: 'order-placed',
  chave_externa: 'order-7',
  payload: text,
  tenant: '9007199254740993',
  grupo_empresarial: 'north',
  payload_hash: Buffer.from(sha256(text)),
  prioridade: 90,
  metadados: { trace: 'abc', nested: { list: [1, null] } },
  chave_unica: null,
  chave_fila: null,
  limite: null,
  lote: null,
  prazo: null,
  consumidor: null,
  cancelada_por: null,
};

const minimal = { topic: 'order-placed' } as const;
const minimalRow = { ...defaults, processo: 'order-placed' };

/** Each way to insert one task, and whether it makes a publication. */
const ways: readonly (readonly [
  name: string,
  insert: (client: QueueClient, input: TaskInput & { readonly topic: string }) => Promise<string | undefined>,
  publication: boolean,
])[] = [
  ['insertTask', (client, input) => client.insertTask(input), false],
  ['insertTasks', async (client, input) => (await client.insertTasks([input]))[0], false],
  ['insertTaskPubSub', (client, input) => client.insertTaskPubSub(input), true],
  ['insertTaskWebhook', (client, input) => client.insertTaskWebhook(input), true],
];

test.each(ways)('%s writes every column as the contract says', async (_, insert, publication) => {
  const ids = [await insert(queue, minimal), await insert(queue, whole)];
  expect(ids).toEqual(['1', '2']);
  expect(await rows()).toEqual([
    { ...minimalRow, id: '1', pub_sub: publication },
    { ...wholeRow, id: '2', pub_sub: publication },
  ]);
});

test.each(ways.slice(0, 2))('%s of nothing at all inserts a task without topic', async (_, insert) => {
  expect(await insert(queue, {} as TaskInput & { readonly topic: string })).toBe('1');
  expect(await rows()).toEqual([{ ...defaults, id: '1' }]);
});

test.each(ways)('%s takes null as nothing', async (_, insert, publication) => {
  const nothing = {
    payload: null,
    externalKey: null,
    origin: null,
    destination: null,
    tenant: null,
    group: null,
    priority: null,
    runAt: null,
    delayMs: null,
    metadata: null,
  };
  await insert(queue, { topic: 'order-placed', ...nothing });
  expect(await rows()).toEqual([{ ...minimalRow, id: '1', pub_sub: publication }]);
});

test.each(ways)('%s leaves out no value that is merely small or empty', async (_, insert) => {
  await insert(queue, {
    topic: 'x',
    externalKey: '',
    origin: '',
    destination: '',
    tenant: 0,
    group: '',
    priority: 0,
    delayMs: 0,
    metadata: {},
  });
  expect(await rows()).toMatchObject([
    {
      chave_externa: '',
      origem: '',
      destino: '',
      tenant: '0',
      grupo_empresarial: '',
      prioridade: 0,
      metadados: {},
    },
  ]);
});

test.each(ways)('%s answers ids beyond 2^53 as they are', async (_, insert) => {
  await pool.query('alter sequence tasks_id_seq restart with 9007199254740993');
  expect(await insert(queue, minimal)).toBe('9007199254740993');
  await pool.query(`select setval('tasks_id_seq', 9223372036854775806)`);
  expect(await insert(queue, minimal)).toBe('9223372036854775807');
});

test.each([
  [12, '12'],
  [-3, '-3'],
  [9007199254740991, '9007199254740991'],
  [2n ** 63n - 1n, '9223372036854775807'],
  ['-9223372036854775808', '-9223372036854775808'],
])('the tenant %s is stored without loss', async (tenant, stored) => {
  for (const [, insert] of ways) await insert(queue, { topic: 'x', tenant });
  expect((await rows()).map((row) => row['tenant'])).toEqual(ways.map(() => stored));
});

test('texts may fill their columns, counted in characters', async () => {
  const full = (length: number): string => '🍵'.repeat(length);
  const input = {
    topic: full(250),
    origin: full(150),
    destination: full(150),
    externalKey: full(100),
    group: full(40),
  };
  for (const [, insert] of ways) await insert(queue, input);
  for (const row of await rows()) {
    expect(row).toMatchObject({
      processo: full(250),
      origem: full(150),
      destino: full(150),
      chave_externa: full(100),
      grupo_empresarial: full(40),
    });
  }
});

test('the extremes of the priority are stored', async () => {
  await queue.insertTasks([{ priority: 2_147_483_647 }, { priority: -2_147_483_647 }]);
  expect((await rows()).map((row) => row['prioridade'])).toEqual([2_147_483_647, -2_147_483_647]);
});
