import { expect, test } from 'vitest';
import { QueueAdmin, Subscriber, TaskHandler } from '../../lib/index.js';
import { useMysqlDatabase } from '../support/mysql.js';
import { createNsjMysqlTables } from '../support/nsj-mysql-table.js';
import { createQueue, startApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { sqlUnder } from './documents.js';

const { url, pool } = await useMysqlDatabase('mariadb');

/** What a user is told to run. */
const [copy] = sqlUnder('docs/guides/from-nsj-queue-lib.md', 'A queue on MySQL and MariaDB', 'mysql');

test('a queue of nsj-queue-lib on MariaDB goes on in a table of this library, by the statements of the guide', async () => {
  await createNsjMysqlTables(pool, 'shop_queue');
  await pool.query(`
    insert into shop_queue_subscriber (id, processo) values ('stock', 'placed');
    set @now = convert_tz(utc_timestamp(6), '+00:00', '-03:00'), @past = @now - interval 1 hour;
    insert into shop_queue (id, processo, payload, status, tentativa, data_hora, data_hora_inicial, id_inicial, id_anterior,
      reenfileirado, proxima_tentativa, dead, live_id, estouro_tentativas, pub_sub, prioridade) values
      (1, 'greet', 'waits', 'pendente', 1, @past, @past, null, null, false, null, false, null, false, false, null),
      (2, 'greet', 'again', 'falha', 1, @past, @past, null, null, true, @past, false, null, false, false, 50),
      (3, 'greet', null, 'agendada', 2, @past, @past, 2, 2, false, null, false, null, false, false, 50),
      (4, 'greet', 'killed', 'processando', 1, @past, @past, null, null, false, null, false, null, false, false, 50),
      (5, 'greet', 'later', 'pendente', 1, @now + interval 1 day, @past, null, null, false, null, false, null, false, false, 50),
      (6, 'greet', 'done', 'sucesso', 1, @past, @past, null, null, false, null, false, null, false, false, 50),
      (7, 'greet', 'crashed', 'falha_processando', 1, @past, @past, null, null, false, null, false, null, true, false, 50),
      (8, 'greet', 'crashed', 'falha', 1, @past, @past, null, null, false, null, true, 7, true, false, 50),
      (9, 'placed', 'order', 'pendente', 1, @past, @past, null, null, false, null, false, null, false, true, 50)`);
  await pool.query(
    'rename table shop_queue to shop_queue_old, shop_queue_subscriber to shop_queue_subscriber_old',
  );
  await createQueue({ url }, { queue: 'shop_queue' });
  await pool.query(String(copy));

  const ran: string[] = [];
  class Handlers {
    @TaskHandler('greet')
    greet(name: string): void {
      ran.push(name);
    }
    @Subscriber('stock')
    stock(payload: string): void {
      ran.push(payload);
    }
  }
  const { app, queue, close } = await startApp({ url }, { queue: 'shop_queue', handlers: [Handlers] });
  try {
    const id = await queue.insertTask({ topic: 'greet', payload: 'new' });
    expect(Number(id)).toBeGreaterThan(9);
    await until(async () => ran.length === 5, 'five tasks run');
    expect(ran.toSorted()).toEqual(['again', 'killed', 'new', 'order', 'waits']);
    const admin = app.get(QueueAdmin);
    expect((await admin.find('2')).attempts.map(({ status }) => status)).toEqual(['failed', 'succeeded']);
    expect((await admin.find('5')).current.status).toBe('scheduled');
    expect((await admin.find('7')).deadIds).toEqual(['8']);
  } finally {
    await close();
  }
});
