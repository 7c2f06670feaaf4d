import type { Client } from 'pg';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import {
  DeadSubscriber,
  DeadTaskHandler,
  Subscriber,
  TaskHandler,
  type QueueClient,
  type TaskContext,
} from '../../lib/index.js';
import { until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

// Every column of every row of a chain that fails to its end, for each kind of task. The first attempt was due
// long ago, so that by the default rule the next ones are due at once.
const bench = useQueue();
const due = '2024-02-28T23:50:00.123457+00:00';
const input = {
  topic: 'ärger',
  payload: { order: 1, note: 'olá 😀' },
  externalKey: 'key',
  origin: 'from',
  destination: 'to',
  tenant: 7,
  group: 'g1',
  priority: 80,
  runAt: due,
  metadata: { trace: 'abc' },
};

/** A row as JSON: times with their microseconds. */
type ExactRow = Readonly<Record<string, unknown>> & { readonly id: number; readonly data_hora: string };

beforeAll(async () => {
  await bench.pool.query(`
    do $$ begin execute format('alter database %I set timezone to ''UTC''', current_database()); end $$;
    create table inserted (row jsonb);
    create function note_inserted() returns trigger language plpgsql as $$ begin
      insert into inserted values (to_jsonb(new)); return null; end $$;
    create function age_delivery() returns trigger language plpgsql as $$ begin
      new.data_hora := '${due}'; return new; end $$`);
});

beforeEach(() => bench.pool.query('truncate inserted'));

class Failing {
  @TaskHandler('ärger')
  task(_: unknown, { task }: TaskContext): void {
    throw new Error(`boom ${task.attempt}`);
  }
  @Subscriber('s')
  delivery(_: unknown, { task }: TaskContext): void {
    throw new Error(`boom ${task.attempt}`);
  }
  @DeadTaskHandler('ärger')
  deadTask(): void {
    throw new Error('boom again');
  }
  @DeadSubscriber('s')
  deadDelivery(): void {
    throw new Error('boom again');
  }
}

interface Kind {
  readonly kind: string;
  readonly message: string;
  readonly insert: (queue: QueueClient) => Promise<unknown>;
  /** True for the first attempt of the chain that fails. */
  readonly isFirst: (row: ExactRow) => boolean;
}

const kinds: readonly Kind[] = [
  {
    kind: 'a simple task',
    message: 'boom',
    insert: (queue) => queue.insertTask(input),
    isFirst: () => true,
  },
  {
    kind: 'a publication',
    message: 'the subscriptions table cannot be read',
    insert: async (queue) => {
      await bench.pool.query('alter table tasks_subscriber rename to gone');
      return queue.insertTaskPubSub(input);
    },
    isFirst: ({ pub_sub }) => pub_sub === true,
  },
  {
    kind: 'a delivery',
    message: 'boom',
    insert: async (queue) => {
      await bench.pool.query(`insert into tasks_subscriber (id, processo, tenant) values ('s', 'ärger', 7)`);
      return queue.insertTaskPubSub(input);
    },
    isFirst: ({ subscriber_id }) => subscriber_id === 's',
  },
];

/** Lets a task of that kind fail three times, and its dead handler once. */
async function failToTheEnd({ insert, isFirst }: Kind) {
  const { queue, worker } = await bench.start({
    handlers: [Failing],
    maxAttempts: 3,
    retryIntervalMinutes: 5,
  });
  const reader = await bench.connect();
  await reader.query(`
    create trigger note after insert on tasks for each row execute function note_inserted();
    create trigger age before insert on tasks for each row
      when (new.subscriber_id is not null and new.live_id is null and new.id_anterior is null)
      execute function age_delivery()`);
  await insert(queue);
  const read = async (): Promise<ExactRow[]> => (await readRows(reader, 'inserted')).filter(isChain);
  const isChain = (row: ExactRow): boolean => isFirst(row) || row['live_id'] !== null;
  await until(async () => (await read()).length === 5, 'all attempts to be inserted');
  const inserted = await read();
  const ids = inserted.map(({ id }) => id);
  const ended = (await readRows(reader, '(select to_jsonb(t) as row from tasks t) t')).filter(({ id }) =>
    ids.includes(id),
  );
  await reader.query(
    'drop trigger note on tasks; drop trigger age on tasks; alter table if exists gone rename to tasks_subscriber',
  );
  return { inserted, ended, executor: Number(worker.id) };
}

async function readRows(reader: Client, from: string): Promise<ExactRow[]> {
  const { rows } = await reader.query<{ row: ExactRow }>(
    `select row from ${from} order by (row->>'id')::bigint`,
  );
  return rows.map(({ row }) => row);
}

/** A time exactly so many minutes later. */
function plusMinutes(at: string, minutes: number): string {
  const later = new Date(Date.parse(`${at.slice(0, 16)}Z`) + minutes * 60_000);
  return later.toISOString().slice(0, 16) + at.slice(16);
}

test.each(kinds)('the rows of $kind', async (kind) => {
  const { inserted, ended, executor } = await failToTheEnd(kind);
  const [first, second, third, dead, deadSecond] = inserted as [
    ExactRow,
    ExactRow,
    ExactRow,
    ExactRow,
    ExactRow,
  ];
  const [failed, failedAgain, failedLast, deadFailed] = ended as [ExactRow, ExactRow, ExactRow, ExactRow];

  const failure = (row: ExactRow, minutes: number | undefined) => ({
    ...row,
    status: 'falha',
    reenfileirado: minutes !== undefined,
    estouro_tentativas: minutes === undefined,
    mensagem: expect.stringMatching(
      new RegExp(
        `^${row['dead'] ? 'boom again' : kind.message}.* \\(${minutes ? 'will be tried again' : 'no attempts left'}\\)$`,
      ),
    ),
    proxima_tentativa: minutes === undefined ? null : plusMinutes(row.data_hora, minutes),
    executor,
    reserva: 1,
    iniciada_em: expect.any(String),
    finalizada_em: expect.any(String),
    erro: expect.stringMatching(/Error.*\n +at /),
  });
  const next = (chain: ExactRow, row: ExactRow, tentativa: number) => ({
    ...chain,
    id: expect.any(Number),
    id_inicial: chain.id,
    data_hora: row['proxima_tentativa'],
    tentativa,
    status: 'agendada',
    id_anterior: row.id,
    data_hora_anterior: row.data_hora,
    status_anterior: 'falha',
    mensagem_anterior: row['mensagem'],
    payload: null,
  });

  expect(first).toMatchObject({ prioridade: 80, metadados: { trace: 'abc' }, chave_externa: 'key' });
  expect(failed).toEqual(failure(first, 5));
  expect(second).toEqual(next(first, failed, 2));
  expect(failedAgain).toEqual(failure(second, 10));
  expect(third).toEqual(next(first, failedAgain, 3));
  expect(failedLast).toEqual(failure(third, undefined));

  expect(dead).toEqual({
    ...first,
    id: expect.any(Number),
    dead: true,
    live_id: first.id,
    data_hora: expect.any(String),
    data_hora_inicial: expect.any(String),
  });
  const diedAt = Date.parse(String(failedLast['finalizada_em']));
  expect(Math.abs(Date.parse(dead.data_hora) - diedAt)).toBeLessThan(1_000);
  expect(deadFailed).toEqual(failure(dead, 5));
  expect(deadSecond).toEqual(next(dead, deadFailed, 2));
  expect(ended).toHaveLength(5);
});
