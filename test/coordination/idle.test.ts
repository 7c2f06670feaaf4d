import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { expect, test, vi } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

const pollIntervalMs = 200;

class Handlers {
  @TaskHandler('work')
  work(): void {}
}

/** Names of all statements that this process sends meanwhile. */
async function sentWithin(ms: number): Promise<readonly string[]> {
  const query = vi.spyOn(Client.prototype, 'query');
  await pause(ms);
  const calls = query.mock.calls as unknown as (readonly [string | { readonly text?: string }])[];
  query.mockRestore();
  return calls.map(([sent]) => {
    const text = typeof sent === 'string' ? sent : (sent.text ?? '');
    return /^-- name: (\w+)/.exec(text)?.[1] ?? text;
  });
}

/** Inserts without a ring. */
async function insertQuietly(columns: string, values: string): Promise<void> {
  await bench.pool.query(
    `do $$ begin
       set local tarefa.quiet = 'on';
       insert into tasks (processo, ${columns}) values ('work', ${values});
     end $$`,
  );
}

test('an idle worker asks by one statement at each poll, whatever it is a worker of', async () => {
  const recovery = false;
  await bench.start({ handlers: [Handlers], pollIntervalMs, recovery });
  // What a start asks is over.
  await pause(1_000);
  const sent = await sentWithin(10 * pollIntervalMs);
  expect(new Set(sent)).toEqual(new Set(['next_due']));
  expect(sent.length).toBeGreaterThan(5);
  expect(sent.length).toBeLessThan(12);
});

test('the one that recovers sends one statement at each look besides, and one at every twelfth look', async () => {
  const recovery = { intervalMs: 200, confirmMs: 200, graceMs: 0 };
  await bench.start({ handlers: [Handlers], pollIntervalMs: 0, recovery });
  // An earlier test's worker may have been stopped a moment ago.
  await pause(1_000);
  const sent = await sentWithin(2_000);
  expect(sent).toContain('lost_workers');
  expect(sent.filter((name) => name !== 'lost_workers' && name !== 'unregistered_holders')).toEqual([]);
  const looks = sent.filter((name) => name === 'lost_workers').length;
  expect(looks).toBeGreaterThan(5);
  expect(looks).toBeLessThan(12);
  expect(sent.length - looks).toBeLessThanOrEqual(1);
});

test('an idle worker finds at a poll what nobody has rung for', async () => {
  const { events } = await bench.start({ handlers: [Handlers], pollIntervalMs: 1_500 });
  await workersAreQuiet({ pool: bench.pool });
  const completed = nextEvent(events, 'task.completed');
  await insertQuietly('payload', `'{}'`);
  expect((await completed).task).toMatchObject({ topic: 'work', attempt: 1 });
});

test('a poll sets the timer for what is scheduled and nobody has rung for', async () => {
  const intervalMs = 3_000;
  const { events } = await bench.start({
    handlers: [Handlers],
    pollIntervalMs: intervalMs,
  });
  await workersAreQuiet({ pool: bench.pool });
  const completed = nextEvent(events, 'task.completed');
  // Due after the next poll, and long before the one after it.
  await insertQuietly('data_hora', `clock_timestamp() + interval '3500 milliseconds'`);
  await completed;
  const { rows } = await bench.pool.query<{ late: number }>(
    `select extract(epoch from iniciada_em - data_hora)::float8 * 1000 as late from tasks`,
  );
  expect(rows[0]?.late).toBeGreaterThanOrEqual(0);
  expect(rows[0]?.late).toBeLessThan(1_000);
});
