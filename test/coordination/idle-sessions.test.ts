import { Client } from 'pg';
import { expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

class Handlers {
  @TaskHandler('work')
  work(): void {}
}

/** Before version 14 nothing ends idle sessions. */
async function canLimit(): Promise<boolean> {
  const { rows } = await bench.pool.query<{ can: boolean }>(
    `select current_setting('server_version_num')::int >= 140000 as can`,
  );
  return rows[0]?.can === true;
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
  const limits = await canLimit();
  const name = new URL(bench.database.url).pathname.slice(1);
  if (limits) await bench.pool.query(`alter database ${name} set idle_session_timeout = '100ms'`);
  const { events, queue } = await bench.start({ handlers: [Handlers], pollIntervalMs: 0, recovery: false });
  const lost: string[] = [];
  events.on('connection.lost', ({ connection }) => lost.push(connection));
  events.on('notice', ({ message }) => {
    if (message.includes('idle connections were lost')) lost.push('pool');
  });
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
  if (limits) await bench.pool.query(`alter database ${name} reset idle_session_timeout`);
});
