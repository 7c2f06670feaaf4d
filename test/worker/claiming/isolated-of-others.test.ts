import { afterEach, expect, test } from 'vitest';
import { DeadTaskHandler, QueueAdmin, TaskHandler } from '../../../lib/index.js';
import type { QueueApp, QueueAppOptions } from '../../support/queue-app.js';
import { deferred, nextEvent, until } from '../../support/waiting.js';
import { withClient } from '../../support/with-client.js';
import { useQueue } from '../queue-bench.js';

// Attempts that are to be run alone, but not by this worker, or not now: nobody may wait for them.
const bench = useQueue();

/** Lets what runs end: before the applications are closed, which would wait for it. */
let end = (): void => undefined;
afterEach(() => end());

/** A worker that runs a task which does not end until it is told to. */
async function startBusy(options: QueueAppOptions = {}) {
  const begun = deferred();
  const gate = deferred();
  end = () => gate.resolve();
  const suspects: string[] = [];
  class Handlers {
    @TaskHandler('endless')
    async endless(): Promise<void> {
      begun.resolve();
      await gate.promise;
    }
    @TaskHandler('ours')
    ours(): void {}
    @TaskHandler('suspect')
    suspect(payload: string): void {
      suspects.push(payload);
    }
  }
  const app = await bench.start({
    handlers: [Handlers],
    unknownTasks: 'leave',
    pollIntervalMs: 0,
    concurrency: 5,
    ...options,
  });
  await bench.pool.query(`insert into tasks (processo) values ('endless')`);
  await begun.promise;
  return { app, suspects };
}

/**
 * An attempt as recovery leaves one that has lost two workers: an insert by hand would be filed with no loss. Committed
 * together, so that the look that the insert rings for finds it so.
 */
function insertSuspect(columns: string, values: string): Promise<string> {
  return withClient(bench.database, async (client) => {
    await client.query('begin');
    const { rows } = await client.query<{ id: string }>(
      `insert into tasks (${columns}) values (${values}) returning id`,
    );
    const id = rows[0]?.id ?? '';
    await client.query('update tasks set perdas = 2 where id = $1', [id]);
    await client.query('commit');
    return id;
  });
}

/** Each of these tasks is promoted by a look, which finds the suspect: a worker that waited for it would stop at one. */
async function expectOthersGoOn({ events }: QueueApp): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    const completed = nextEvent(events, 'task.completed', ({ task }) => task.topic === 'ours');
    await bench.pool.query(
      `insert into tasks (processo, status, data_hora) values ('ours', 'agendada', now())`,
    );
    await completed;
  }
}

test('a suspect of a topic that no worker serves halts nobody', async () => {
  const { app } = await startBusy();
  const id = await insertSuspect('processo', `'gone'`);
  await expectOthersGoOn(app);
  expect(await bench.statusOf(id)).toBe('pendente');
});

test('a dead suspect whose handler is elsewhere halts nobody', async () => {
  const hour = 3_600_000;
  const { app } = await startBusy({ recovery: { intervalMs: hour, confirmMs: hour } });
  await bench.pool.query(`
    insert into tasks_worker (host, pid, version, concurrency, routes, dead_routes)
    values ('elsewhere', 1, '0', 1, '{p}', '{t:suspect}')`);
  const id = await insertSuspect('processo, dead, live_id', `'suspect', true, 1`);
  await expectOthersGoOn(app);
  expect(await bench.statusOf(id)).toBe('pendente');
});

test('a suspect of a paused topic halts nobody, and runs once it is resumed', async () => {
  const { app, suspects } = await startBusy();
  const admin = app.app.get(QueueAdmin);
  await admin.pause({ topic: 'suspect' });
  // A worker that has not heard of it yet would wait for its turn.
  await expectOthersGoOn(app);
  const id = await insertSuspect('processo, payload', `'suspect', 'it'`);
  await expectOthersGoOn(app);
  // Behind the last look that the others have caused.
  const completed = nextEvent(app.events, 'task.completed', ({ task }) => task.topic === 'ours');
  await bench.pool.query(`insert into tasks (processo) values ('ours')`);
  await completed;
  expect(suspects).toEqual([]);
  await admin.resume({ topic: 'suspect' });
  end();
  // Nothing but the resume makes the worker look.
  await until(async () => (await bench.statusOf(id)) === 'sucesso', 'the suspect runs');
  expect(suspects).toEqual(['it']);
});

test('a worker that treats unknown tasks, or those of every dead topic, runs suspects of topics that it did not know', async () => {
  class Dead {
    @DeadTaskHandler()
    any(): void {}
  }
  // The turn of the worker before may not have been given back yet: then the next look asks again.
  const { app } = await startBusy({ unknownTasks: 'fail', pollIntervalMs: 1_000 });
  const id = await insertSuspect('processo', `'gone'`);
  end();
  expect(await until(async () => (await bench.statusOf(id)) === 'falha', 'the unknown one fails')).toBe(true);
  await app.close();
  await bench.start({ handlers: [Dead], unknownTasks: 'leave', pollIntervalMs: 0 });
  const dead = await insertSuspect('processo, dead, live_id', `'unheard', true, 1`);
  expect(await until(async () => (await bench.statusOf(dead)) === 'sucesso', 'the dead one is treated')).toBe(
    true,
  );
});
