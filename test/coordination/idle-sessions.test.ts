import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { TaskHandler, type QueueEvents } from '../../lib/index.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

class Handlers {
  @TaskHandler('work')
  work(): void {}
}

/** Until the test ends; false before version 14, where nothing ends idle sessions. */
async function limitIdleSessions(): Promise<boolean> {
  const { rows } = await bench.pool.query<{ can: boolean }>(
    `select current_setting('server_version_num')::int >= 140000 as can`,
  );
  if (rows[0]?.can !== true) return false;
  const name = new URL(bench.database.url).pathname.slice(1);
  await bench.pool.query(`alter database ${name} set idle_session_timeout = '100ms'`);
  onTestFinished(async () => {
    await bench.pool.query(`alter database ${name} reset idle_session_timeout`);
  });
  return true;
}

/** What is told of connections that are lost. */
function noteLost(events: QueueEvents): readonly string[] {
  const lost: string[] = [];
  events.on('connection.lost', ({ connection }) => lost.push(connection));
  events.on('notice', ({ message }) => {
    if (message.includes('idle connections were lost')) lost.push('pool');
  });
  return lost;
}

/** Resolves when the server has ended an idle session of another program. */
async function sessionEnded(): Promise<void> {
  const other = new Client({ connectionString: bench.database.url });
  other.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => other.once('end', () => resolve()));
  await other.connect();
  await ended;
}

test('a limit for idle sessions ends none of the library’s, and its worker goes on hearing', async () => {
  const limits = await limitIdleSessions();
  const { events, queue } = await bench.start({ handlers: [Handlers], pollIntervalMs: 0, recovery: false });
  const lost = noteLost(events);
  const first = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'work' });
  await first;
  // Longer ago than the last statement of any of them.
  if (limits) await sessionEnded();
  if (limits) await sessionEnded();
  const second = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'work' });
  await second;
  expect(lost).toEqual([]);
});

test('under such a limit lost workers are recovered, by looks that lie further apart', async () => {
  const limits = await limitIdleSessions();
  const recovery = { intervalMs: 300, confirmMs: 300, graceMs: 0 };
  const { events } = await bench.start({ handlers: [Handlers], pollIntervalMs: 0, recovery });
  const lost = noteLost(events);
  if (limits) await sessionEnded();
  const recovered = nextEvent(events, 'task.recovered');
  await bench.pool.query(
    `insert into tasks (processo, status, executor, reserva) values ('work', 'processando', 4711, 1)`,
  );
  expect(await recovered).toMatchObject({ workerId: '4711' });
  expect(lost).toEqual([]);
});
