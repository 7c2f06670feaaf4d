import { beforeEach, expect, test, vi } from 'vitest';
import { DeadTaskHandler, TaskHandler } from '../../lib/index.js';
import { startProxy, type DatabaseProxy } from '../support/database-proxy.js';
import type { QueueApp } from '../support/queue-app.js';
import { subscribe } from '../support/subscriptions.js';
import { nextEvent, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const limit = 100_000;
const payloadBytes = 5_000_000;

const bench = useQueue();
let proxy: DatabaseProxy;
let app: QueueApp;
let called: string[];

class Handlers {
  @TaskHandler('plain')
  plain(): void {
    called.push('plain');
  }

  @TaskHandler('with dead handler')
  live(): void {
    called.push('live');
  }

  @DeadTaskHandler('with dead handler')
  dead(): void {
    called.push('dead');
  }

  @TaskHandler('order-placed')
  publication(): void {
    called.push('publication');
  }
}

beforeEach(async () => {
  called = [];
  proxy = await startProxy(bench.database);
  app = await bench.start({ connection: proxy.url, handlers: [Handlers], maxPayloadBytes: limit });
  return () => proxy.close();
});

/** As another program would; returns when its live and its dead chain have ended. */
async function insertOversized(
  topic: string,
  publication = false,
): Promise<readonly Record<string, unknown>[]> {
  await bench.pool.query(
    `insert into tasks (processo, pub_sub, payload) select $1, $2, '{"a":"' || repeat('é', $3::int / 2) || '"}'`,
    [topic, publication, payloadBytes],
  );
  return until(async () => {
    const { rows } = await bench.pool.query<Record<string, unknown>>(
      `select status, dead, tentativa, estouro_tentativas as exhausted, mensagem as message,
         octet_length(payload) > $1 as whole
       from tasks order by id`,
      [payloadBytes],
    );
    return rows.length === 2 && rows.every(({ status }) => status !== 'pendente' && status !== 'processando')
      ? rows
      : undefined;
  }, 'both chains end');
}

const refused = {
  status: 'falha',
  tentativa: 1,
  exhausted: true,
  whole: true,
  message: expect.stringMatching(
    /50000\d\d bytes.*more than maxPayloadBytes \(100000\).*neither loaded nor run/,
  ) as unknown,
};

test('a row above the limit fails without being loaded or parsed, and is buried', async () => {
  const parse = vi.spyOn(JSON, 'parse');
  const rows = await insertOversized('plain');
  expect(rows).toMatchObject([
    { ...refused, dead: false },
    // Nobody handles it, so it waits for a person.
    { status: 'sucesso', dead: true, whole: true, message: expect.stringContaining('manual') as unknown },
  ]);
  expect(called).toEqual([]);
  expect(parse.mock.calls.filter(([text]) => text.length > limit)).toEqual([]);
  expect(proxy.received).toBeLessThan(payloadBytes / 4);
});

test('a dead handler does not get it either, and the dead chain ends as well', async () => {
  const rows = await insertOversized('with dead handler');
  expect(rows).toMatchObject([
    { ...refused, dead: false },
    { ...refused, dead: true },
  ]);
  expect(called).toEqual([]);
  expect(proxy.received).toBeLessThan(payloadBytes / 4);
});

test('a publication above the limit is not delivered', async () => {
  await subscribe(bench.database, [{ id: 'a' }]);
  const rows = await insertOversized('order-placed', true);
  expect(rows).toMatchObject([
    { ...refused, dead: false },
    { status: 'sucesso', dead: true },
  ]);
  expect(called).toEqual([]);
  expect(proxy.received).toBeLessThan(payloadBytes / 4);
});

test('the limit is of bytes, and what just fits is run', async () => {
  const completed = nextEvent(app.events, 'task.completed');
  await bench.pool.query(`insert into tasks (processo, payload) select 'plain', repeat('é', $1::int / 2)`, [
    limit,
  ]);
  await completed;
  const failed = nextEvent(app.events, 'task.failed');
  await bench.pool.query(
    `insert into tasks (processo, payload) select 'plain', repeat('é', $1::int / 2) || '.'`,
    [limit],
  );
  expect((await failed).message).toMatch(/100001 bytes/);
  expect(called).toEqual(['plain']);
});
