import { createHash } from 'node:crypto';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { Subscriber, type TaskContext, type Subscription } from '../../../lib/index.js';
import { contractColumns, ownColumns } from '../../../lib/storage/postgres/schema/schema.js';
import { createQueue, type QueueAppOptions } from '../../support/queue-app.js';
import { subscribe } from '../../support/subscriptions.js';
import { nextEvent, until } from '../../support/waiting.js';
import { onPostgres, unlessTold } from '../../support/run-database.js';
import { useQueue } from '../queue-bench.js';

const bench = useQueue();

beforeAll(() => createQueue(bench.database));

const start = (options: QueueAppOptions = {}) =>
  bench.start({ unknownTasks: 'leave', retryIntervalMinutes: 0, ...options });

async function rows(): Promise<Record<string, unknown>[]> {
  const all = await bench.pool.query<Record<string, unknown>>('select * from tasks order by id');
  return all.rows;
}

const everyField = {
  topic: 'order-placed',
  payload: { order: 7, note: 'maçã 🍏' },
  externalKey: 'order-7',
  origin: 'shop',
  destination: 'everyone',
  tenant: '9007199254740993',
  group: 'g1',
  priority: 77,
  metadata: { trace: 'abc' },
} as const;

test('every column of a delivery is what the contract says', async () => {
  await subscribe(bench.database, [
    {
      id: 'search-index',
      grupo_empresarial: 'g1',
      url: 'http://localhost/hook',
      http_method: 'POST',
      headers: { 'x-a': '1' },
    },
  ]);
  const before = new Date(Date.now() - 60_000);
  const { queue, events } = await start();
  const delivered = nextEvent(events, 'publication.delivered');
  const publicationId = await queue.insertTaskPubSub(everyField);
  expect(await delivered).toMatchObject({ task: { id: publicationId }, deliveries: 1 });

  const [publication, delivery, ...others] = await rows();
  expect(others).toEqual([]);
  const stored = await bench.pool.query('select * from tasks_subscriber');
  const payload = String(delivery?.['payload']);
  expect(JSON.parse(payload)).toEqual({
    publication: JSON.stringify(everyField.payload),
    subscription: {
      ...stored.rows[0],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as unknown,
    },
    // What a worker sends to a URL bears its seal: see test/webhooks/seal.test.ts.
    seal: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
  });
  const { id, data_hora, data_hora_inicial, ...columns } = delivery ?? {};
  expect(Number(id)).toBeGreaterThan(Number(publicationId));
  expect(data_hora).toBeInstanceOf(Date);
  expect(Number(data_hora)).toBeGreaterThan(Number(before));
  expect(data_hora_inicial).toEqual(data_hora);
  expect(columns).toEqual({
    id_inicial: null,
    origem: 'shop',
    destino: 'everyone',
    processo: 'order-placed',
    chave_externa: 'order-7',
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
    payload,
    tenant: '9007199254740993',
    grupo_empresarial: 'g1',
    payload_hash: Buffer.from(createHash('sha256').update(payload).digest('hex')),
    pub_sub: false,
    publication_id: publicationId,
    subscriber_id: 'search-index',
    dead: false,
    live_id: null,
    prioridade: 77,
    executor: null,
    reserva: 0,
    rodada: 0,
    perdas: 0,
    iniciada_em: null,
    finalizada_em: null,
    resultado: null,
    erro: null,
    metadados: { trace: 'abc' },
    chave_unica: null,
    chave_fila: null,
    limite: null,
    lote: null,
    prazo: null,
    consumidor: null,
    cancelada_por: null,
  });
  // Nothing was forgotten above.
  const known = [...contractColumns, ...ownColumns].map(({ name }) => name);
  expect(Object.keys(delivery ?? {}).sort()).toEqual(known.sort());
  expect(publication).toMatchObject({
    status: 'sucesso',
    pub_sub: true,
    publication_id: null,
    subscriber_id: null,
    mensagem: 'delivered to 1 subscription',
  });
});

test('two subscriptions get a delivery each, due at once, and both run', async () => {
  await subscribe(bench.database, [{ id: 'a' }, { id: 'b' }]);
  const received = new Map<string, unknown>();
  class Handlers {
    @Subscriber('a')
    a(payload: unknown, { subscription, task }: TaskContext): void {
      received.set('a', [payload, subscription?.id, task.publicationId]);
    }

    @Subscriber('b')
    b(payload: unknown, { subscription, task }: TaskContext): void {
      received.set('b', [payload, subscription?.id, task.publicationId]);
    }
  }
  const { queue } = await start({ handlers: [Handlers], pollIntervalMs: unlessTold });
  const id = await queue.insertTaskPubSub({ topic: 'order-placed', payload: { order: 1 } });
  await until(async () => received.size === 2, 'both deliveries run');
  expect(received.get('a')).toEqual([{ order: 1 }, 'a', id]);
  expect(received.get('b')).toEqual([{ order: 1 }, 'b', id]);
});

test('when one subscriber fails only its delivery is tried again', async () => {
  await subscribe(bench.database, [{ id: 'steady' }, { id: 'shaky' }]);
  const calls: string[] = [];
  class Handlers {
    @Subscriber('steady')
    steady(): void {
      calls.push('steady');
    }

    @Subscriber('shaky')
    shaky(_: unknown, { task }: TaskContext): void {
      calls.push(`shaky ${task.attempt}`);
      if (task.attempt < 3) throw new Error('shaky');
    }
  }
  const { queue, events } = await start({ handlers: [Handlers] });
  const done = nextEvent(events, 'task.completed', ({ task }) => task.subscriptionId === 'shaky');
  await queue.insertTaskPubSub({ topic: 'order-placed' });
  await done;
  expect(calls.sort()).toEqual(['shaky 1', 'shaky 2', 'shaky 3', 'steady']);
  const publications = (await rows()).filter((row) => row['pub_sub'] === true);
  expect(publications).toMatchObject([{ status: 'sucesso', tentativa: 1 }]);
});

test('a delivery keeps the subscription as it was, whatever becomes of it', async () => {
  await subscribe(bench.database, [{ id: 'kept', url: 'http://localhost/old', headers: { 'x-key': 'old' } }]);
  const seen: (Subscription | undefined)[] = [];
  class Handlers {
    @Subscriber('kept')
    kept(_: unknown, { subscription, task }: TaskContext): void {
      seen.push(subscription);
      if (task.attempt === 1) throw new Error('again, please');
    }
  }
  const { queue } = await start({ handlers: [Handlers], retryIntervalMinutes: 525_600 });
  await queue.insertTaskPubSub({ topic: 'order-placed', payload: 'x' });
  await until(async () => seen.length === 1, 'the first attempt');
  await bench.pool.query(`update tasks_subscriber set url = 'http://localhost/new', ativo = false`);
  await bench.pool.query('delete from tasks_subscriber');
  // The failure is written after the handler has ended.
  await until(async () => {
    const { rowCount } = await bench.pool.query(
      `update tasks set data_hora = now() where status = 'agendada'`,
    );
    return rowCount === 1;
  }, 'its next attempt is scheduled');
  if (onPostgres) await bench.pool.query(`notify tasks, '* later'`);
  await until(async () => seen.length === 2, 'the second attempt');
  expect(seen[1]).toEqual(seen[0]);
  expect(seen[1]).toEqual({
    id: 'kept',
    topic: 'order-placed',
    tenant: null,
    group: null,
    url: 'http://localhost/old',
    httpMethod: null,
    headers: { 'x-key': 'old' },
  });
});

test('a publication that loses to other transactions is delivered by the same attempt', async () => {
  await subscribe(bench.database, [{ id: 'a', processo: 'contended' }]);
  const { queue, events } = await start();
  // A sequence goes on when the transaction is undone, as a session's variable does.
  await bench.pool.query(
    onPostgres
      ? `create sequence losses;
         create function lose() returns trigger language plpgsql as $$ begin
           if nextval('losses') <= 2 then raise exception 'lost' using errcode = '40P01'; end if;
           return new; end $$;
         create trigger lose before insert on tasks for each row when (new.subscriber_id is not null) execute function lose()`
      : `create trigger lose before insert on tasks for each row
         if new.subscriber_id is not null and coalesce(@losses, 0) < 2 then
           set @losses = coalesce(@losses, 0) + 1;
           signal sqlstate '40001' set mysql_errno = 1213, message_text = 'lost';
         end if`,
  );
  onTestFinished(async () => {
    await bench.pool.query(`drop trigger lose${onPostgres ? ' on tasks' : ''}`);
  });
  const delivered = nextEvent(events, 'publication.delivered');
  await queue.insertTaskPubSub({ topic: 'contended' });
  expect(await delivered).toMatchObject({ task: { attempt: 1 }, deliveries: 1 });
});
