import { describe, expect, test } from 'vitest';
import { DeadTaskHandler, TaskHandler, type QueueModuleOptions } from '../../lib/index.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useQueue, type AttemptRow } from './queue-bench.js';
import { routeList, testOnPostgres, unlessTold } from '../support/run-database.js';

// Dead tasks that nobody has a handler for get the default treatment, whoever is there; others wait for their handler.
const bench = useQueue();
const byHand = 'manual intervention is needed';
const handled: string[] = [];

class Live {
  @TaskHandler('ship', { maxAttempts: 1 })
  ship(): void {
    throw new Error('no ship');
  }
}

class Dead {
  @DeadTaskHandler('ship')
  shipDead(payload: string): void {
    handled.push(payload);
  }
}

const dead = (live: string): Promise<AttemptRow> =>
  until(async () => {
    const row = (await bench.chain(live)).find((one) => one['dead'] === true);
    return row && ['sucesso', 'falha'].includes(row.status) && row;
  }, `the dead task of ${live} to be treated`);

/** Inserts a task, or a publication, that has failed for good, and its dead task. */
async function bury(columns: string, values: string): Promise<string> {
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (status, estouro_tentativas, ${columns}) values ('falha', true, ${values}) returning id`,
  );
  const id = rows[0]?.id ?? '';
  await bench.pool.query(`insert into tasks (dead, live_id, ${columns}) values (true, $1, ${values})`, [id]);
  return id;
}

describe.each<readonly [string, QueueModuleOptions]>([
  ['that leaves unknown tasks alone', { unknownTasks: 'leave' }],
  ['that only delivers webhooks', { unknownTasks: 'leave', webhooks: true }],
  ['that fails unknown tasks', {}],
])('a worker %s', (_, options) => {
  test.each([
    ['task', 'processo', `'lost'`],
    ['publication', 'processo, pub_sub', `'order', true`],
    ['delivery', 'processo, subscriber_id, publication_id', `'order', 'mail', 1`],
  ])('treats a dead %s that nobody handles', async (__, columns, values) => {
    const { events } = await bench.start(options);
    const warnings: string[] = [];
    events.on('warning', ({ message }) => warnings.push(message));
    const id = await bury(columns, values);
    expect(await dead(id)).toMatchObject({
      status: 'sucesso',
      mensagem: expect.stringContaining(byHand),
    });
    expect(warnings).toEqual([expect.stringContaining(`task ${id}: ${byHand}`)]);
  });
});

test('a publication that fails for good is treated by the worker that gave it up', async () => {
  await bench.start({ unknownTasks: 'leave', maxPayloadBytes: 10 });
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, pub_sub, payload) values ('order', true, repeat('x', 100)) returning id`,
  );
  expect(await dead(rows[0]?.id ?? '')).toMatchObject({ status: 'sucesso' });
});

describe('while another worker announces a dead handler', () => {
  test.each<readonly [string, QueueModuleOptions]>([
    ['serves the live route', {}],
    ['leaves unknown tasks alone', { unknownTasks: 'leave' }],
  ])('one that %s leaves the dead task to it', async (_, options) => {
    handled.length = 0;
    // No slot is free where the handler is, until the other worker had its chance.
    const busy = await bench.start({ handlers: [Live, Dead], unknownTasks: 'leave', autoStart: false });
    await busy.worker.start();
    await busy.worker.stop();
    await bench.pool.query(`update tasks_worker set stopped_at = null where id = $1`, [busy.worker.id]);
    const { queue, events } = await bench.start({ handlers: [Live], recovery: false, ...options });
    const ended = new Promise((resolve) => events.on('task.completed', resolve));
    const id = await queue.insertTask({ topic: 'ship', payload: 'box' });
    await until(async () => (await bench.chain(id)).length === 2, 'it to die');
    // Whatever the worker does about dead tasks it has done when a later one of its own has ended.
    const other = await bury('processo', `'lost'`);
    await dead(other);
    await ended;
    const [, waiting] = await bench.chain(id);
    expect(waiting).toMatchObject({ dead: true, status: 'pendente' });
    // The handler's worker is gone: then somebody else treats it.
    await bench.pool.query(`update tasks_worker set stopped_at = now() where id = $1`, [busy.worker.id]);
    await bury('processo', `'lost'`);
    expect(await dead(id)).toMatchObject({ mensagem: expect.stringContaining(byHand) });
  });

  test('the handler gets it', async () => {
    handled.length = 0;
    await bench.start({ handlers: [Live] });
    const { queue } = await bench.start({ handlers: [Live, Dead], unknownTasks: 'leave' });
    const ids = await queue.insertTasks(
      Array.from({ length: 20 }, (_, index) => ({ topic: 'ship', payload: `box ${index}` })),
    );
    for (const id of ids) expect(await dead(id)).toMatchObject({ status: 'sucesso', mensagem: 'completed' });
    expect(handled).toHaveLength(20);
  });

  test('one that a look has missed still gets it; one that is lost does not', async () => {
    const { pool } = bench;
    // Its session reconnects: whoever looks meanwhile notes it as missing.
    await pool.query(`
      insert into tasks_worker (host, pid, version, concurrency, routes, dead_routes, missed_at)
      values ('away', 1, '0.2.0', 1, '${routeList()}', '${routeList('t:away')}', now())`);
    await bench.start({ unknownTasks: 'leave', recovery: false });
    const kept = await bury('processo', `'away'`);
    await dead(await bury('processo', `'lost'`));
    expect((await bench.chain(kept))[1]).toMatchObject({ status: 'pendente' });
    await pool.query(`update tasks_worker set stopped_at = now() where host = 'away'`);
    await bury('processo', `'lost'`);
    expect(await dead(kept)).toMatchObject({ mensagem: expect.stringContaining(byHand) });
  });

  testOnPostgres('once that worker is confirmed lost, the others treat it before any poll', async () => {
    const { pool } = bench;
    const end = deferred();
    class Busy {
      @TaskHandler('busy')
      busy(): Promise<void> {
        return end.promise;
      }
    }
    const quiet = { unknownTasks: 'leave', pollIntervalMs: unlessTold } as const;
    // Looks when it is told to, and has no slot to treat anything in.
    const recovery = { intervalMs: 3_600_000, confirmMs: 20, graceMs: 0 };
    const looker = await bench.start({
      handlers: [Busy],
      concurrency: 1,
      shutdownTimeoutMs: 100,
      recovery,
      ...quiet,
    });
    const claimed = nextEvent(looker.events, 'task.claimed');
    await looker.queue.insertTask({ topic: 'busy' });
    await claimed;
    const { events } = await bench.start({ recovery: false, ...quiet });
    // It held nothing when it was killed.
    const { rows } = await pool.query<{ id: string }>(`
      insert into tasks_worker (host, pid, version, concurrency, routes, dead_routes)
      values ('killed', 1, '0.2.0', 1, '${routeList()}', '${routeList('t:killed')}') returning id`);
    const kept = await bury('processo', `'killed'`);
    await dead(await bury('processo', `'lost'`));
    await workersAreQuiet(bench.database);
    expect((await bench.chain(kept))[1]).toMatchObject({ status: 'pendente' });
    const treated = nextEvent(events, 'task.completed');
    expect(await looker.retry.run()).toBe(0);
    const { rows: stopped } = await pool.query(`select stopped_at from tasks_worker where id = $1`, [
      rows[0]?.id,
    ]);
    expect(stopped).toEqual([{ stopped_at: expect.any(Date) as unknown }]);
    expect((await treated).task).toMatchObject({ topic: 'killed', dead: true });
    end.resolve();
  });
});
