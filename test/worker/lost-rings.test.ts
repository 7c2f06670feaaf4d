import { setTimeout as pause } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { WalkPace } from '../../lib/timing/walk-pace.js';
import { TaskHandler } from '../../lib/index.js';
import { Agenda } from '../../lib/worker/agenda.js';
import { holdTimers } from '../support/held-timers.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();
const pollIntervalMs = 200;

const held = deferred();

class Handlers {
  @TaskHandler('a')
  handle(): void {}
  @TaskHandler('later')
  later(): void {}
  @TaskHandler('slow')
  slow(): Promise<void> {
    return held.promise;
  }
  @TaskHandler('failing')
  fail(): never {
    throw new Error('no');
  }
}

test('what nobody rang for is found at the next poll, however rare sweeps are, and beside other work', async () => {
  // As if a sweep took so long that the next one is far off.
  vi.spyOn(WalkPace.prototype, 'dueInMs', 'get').mockReturnValue(3_600_000);
  const { queue, events } = await bench.start({ handlers: [Handlers], pollIntervalMs });
  const first = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'a' });
  await first;
  const found = nextEvent(events, 'task.completed', ({ task }) => task.topic === 'a');
  await bench.pool.query(
    `begin; set local tarefa.quiet = 'on';
     insert into tasks (processo, data_hora) values ('a', now() - interval '1 hour'); commit`,
  );
  expect((await found).task.topic).toBe('a');
});

test('a poll holds for a claim that follows a statement which hung meanwhile', async () => {
  vi.spyOn(WalkPace.prototype, 'dueInMs', 'get').mockReturnValue(3_600_000);
  const { queue, events } = await bench.start({
    handlers: [Handlers],
    pollIntervalMs,
    concurrency: 2,
    recovery: false,
  });
  const client = await bench.connect();
  await client.query('begin; select pg_advisory_lock(4711)');
  await bench.pool.query(
    `create or replace function hang() returns trigger language plpgsql as
       $$ begin perform pg_advisory_xact_lock(4711); return new; end $$;
     create trigger hang before update on tasks for each row when (new.status = 'falha') execute function hang()`,
  );
  const warmed = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'a' });
  await warmed;
  await queue.insertTask({ topic: 'slow' });
  await queue.insertTask({ topic: 'failing' });
  await until(async () => (await bench.pool.query(hanging)).rowCount, 'the failure hangs');
  await bench.pool.query(
    `begin; set local tarefa.quiet = 'on';
     insert into tasks (processo, data_hora) values ('a', now() - interval '1 hour'); commit`,
  );
  await queue.insertTask({ topic: 'later' });
  // Timers of one process fire in their order: the poll has come by then.
  await pause(2 * pollIntervalMs);
  const next = nextEvent(events, 'task.claimed');
  await client.query('rollback; select pg_advisory_unlock(4711)');
  expect((await next).task.topic).toBe('a');
  held.resolve();
  await bench.pool.query('drop trigger hang on tasks');
});

const hanging = `select from pg_stat_activity
  where datname = current_database() and wait_event = 'advisory' and query like '-- name: fail%'`;

function agendaWith(options: { readonly pollIntervalMs: number; readonly busyPollMs?: number }): Agenda {
  const loop = {
    mode: 'claiming',
    wake: nothing,
    setAlone: nothing,
    look: nothing,
    compare: nothing,
    reconcile: nothing,
  } as const;
  const nextDue = (): Promise<never> => Promise.reject(new Error('nobody asks'));
  return new Agenda(loop, { size: 1 }, { isSure: true, nextDue }, { ask: nothing, obey: nothing }, options);
}

function nothing(): void {}

test('who never polls does so once a second while it hears nothing, also where work makes polls frequent', () => {
  const timers = holdTimers(() => true);
  const agenda = agendaWith({ pollIntervalMs: 0, busyPollMs: 100 });
  agenda.start();
  expect(timers.asked).toEqual([]);
  agenda.hears(false);
  expect(timers.asked).toEqual([1_000]);
  agenda.hears(true);
  expect(timers.waiting).toBe(0);
  agenda.stop();
});

test('a poll that the process could not make in time is known to be missed', () => {
  const agenda = agendaWith({ pollIntervalMs: 50 });
  expect(agenda.pollMissed).toBe(false);
  agenda.start();
  expect(agenda.pollMissed).toBe(false);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
  expect(agenda.pollMissed).toBe(true);
  agenda.stop();
});
