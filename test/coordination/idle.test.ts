import { Client } from 'pg';
import { expect, test, vi } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { unservedMs } from '../../lib/storage/waiting-route.js';
import { holdTimers, type HeldTimers } from '../support/held-timers.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { nextEvent, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

/** Nobody else asks for timers of these delays. */
const [pollIntervalMs, lookIntervalMs] = [1_234_567, 3_456_789];

class Handlers {
  @TaskHandler('work')
  work(): void {}
}

function holdTimersOf(delayMs: number): HeldTimers {
  return holdTimers((ms) => ms === delayMs);
}

/**
 * Lets these timers ring one by one: each call answers the names of all statements that this process has sent since the last
 * one, once the one that a timer makes it send is answered and the next timer is set.
 */
function sentAtEach(timers: HeldTimers, statement: string): () => Promise<readonly string[]> {
  const query = vi.spyOn(Client.prototype, 'query');
  let told = 0;
  const untold = (): readonly string[] => {
    const calls = query.mock.calls as unknown as (readonly [string | { readonly text?: string }])[];
    return calls.slice(told).map(([sent]) => {
      const text = typeof sent === 'string' ? sent : (sent.text ?? '');
      return /^-- name: (\w+)/.exec(text)?.[1] ?? text;
    });
  };
  return async () => {
    const asked = timers.asked.length;
    timers.ringFirst();
    const isOver = async () => untold().includes(statement) && timers.asked.length > asked;
    await until(isOver, `${statement} is sent, and the next timer set`);
    await Promise.allSettled(query.mock.results.map(({ value }) => value as unknown));
    const sent = untold();
    told += sent.length;
    return sent;
  };
}

/** So many rounds, once what a start asks is over: when three in a row send that statement alone. */
async function roundsOf(
  count: number,
  next: () => Promise<readonly string[]>,
  statement: string,
): Promise<readonly (readonly string[])[]> {
  const first: (readonly string[])[] = [];
  while (first.length < 20 && first.slice(-3).filter((sent) => sent.join() === statement).length < 3) {
    first.push(await next());
  }
  const rounds: (readonly string[])[] = [];
  for (let round = 0; round < count; round += 1) rounds.push(await next());
  return rounds;
}

/** The look for tasks that nobody serves comes a moment after the start: on a busy machine, within the test. */
const withoutUnservedLook = (): unknown => holdTimersOf(unservedMs + 5_000);

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
  withoutUnservedLook();
  const polls = holdTimersOf(pollIntervalMs);
  await bench.start({ handlers: [Handlers], pollIntervalMs, recovery: false });
  const rounds = await roundsOf(10, sentAtEach(polls, 'next_due'), 'next_due');
  expect(rounds).toEqual(Array.from({ length: 10 }, () => ['next_due']));
  expect(polls.waiting).toBe(1);
});

test('the one that recovers sends one more statement at each look, and one at every twelfth look', async () => {
  withoutUnservedLook();
  const looks = holdTimersOf(lookIntervalMs);
  const now = performance.now.bind(performance);
  let ahead = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  const recovery = { intervalMs: lookIntervalMs, confirmMs: 200, graceMs: 0 };
  await bench.start({ handlers: [Handlers], pollIntervalMs: 0, recovery });
  const look = sentAtEach(looks, 'lost_workers');
  const lookInTime = (): Promise<readonly string[]> => {
    ahead += lookIntervalMs;
    return look();
  };
  const sent = await roundsOf(24, lookInTime, 'lost_workers');
  const walks = sent.flatMap((names, round) => (names.includes('unregistered_holders') ? [round] : []));
  expect(walks).toEqual([expect.any(Number), (walks[0] ?? 0) + 12]);
  expect(new Set(sent.flat())).toEqual(new Set(['lost_workers', 'unregistered_holders']));
  expect(sent.flat()).toHaveLength(24 + walks.length);
  expect(looks.waiting).toBe(1);
});

test('an idle worker finds at a poll what nobody has rung for', async () => {
  const polls = holdTimersOf(pollIntervalMs);
  const { events } = await bench.start({ handlers: [Handlers], pollIntervalMs });
  await workersAreQuiet({ pool: bench.pool });
  const completed = nextEvent(events, 'task.completed');
  await insertQuietly('payload', `'{}'`);
  polls.ringFirst();
  expect((await completed).task).toMatchObject({ topic: 'work', attempt: 1 });
});

test('a poll sets the timer for what is scheduled and nobody has rung for', async () => {
  const polls = holdTimersOf(pollIntervalMs);
  const alarms = holdTimers((ms) => ms > 3_000_000 && ms <= 3_300_000);
  const { events } = await bench.start({ handlers: [Handlers], pollIntervalMs });
  await workersAreQuiet({ pool: bench.pool });
  await insertQuietly('data_hora', `clock_timestamp() + interval '55 minutes'`);
  polls.ringFirst();
  await until(async () => alarms.waiting === 1, 'the timer is set to when it is due');
  // There is no other poll: what finds it is the timer.
  const completed = nextEvent(events, 'task.completed');
  await bench.pool.query('update tasks set data_hora = now()');
  alarms.ringFirst();
  expect((await completed).task).toMatchObject({ topic: 'work', attempt: 1 });
});
