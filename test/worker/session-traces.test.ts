import { beforeEach, expect, test } from 'vitest';
import { QueueAdmin, TaskHandler, type TaskContext } from '../../lib/index.js';
import type { QueueApp } from '../support/queue-app.js';
import { onPostgres } from '../support/run-database.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

interface Statements {
  readonly texts: readonly string[];
  readonly client?: boolean;
  readonly fails?: boolean;
}

/** What a handler sees of its session. */
const look = onPostgres
  ? `select pg_backend_pid()::text as session, current_setting('search_path') as path,
       nullif(current_setting('app.tenant', true), '') as tenant, to_regclass('leftover')::text as leftover,
       (select count(*)::int from pg_locks where pid = pg_backend_pid() and locktype = 'advisory') as locks`
  : `select cast(connection_id() as char) as session, @@session.time_zone as zone, @leftover as leftover,
       is_used_lock('leftover') as locks`;

const leaving = onPostgres
  ? [
      'set search_path to shop',
      `select set_config('app.tenant', '7', false)`,
      'create temp table leftover (n int)',
      'select pg_advisory_lock(7)',
      'listen leftover',
    ]
  : [`set time_zone = '+03:00'`, 'select 7 into @leftover', `select get_lock('leftover', 0)`];

class Handlers {
  @TaskHandler('leave', { maxAttempts: 1 })
  leave(statements: Statements, ctx: TaskContext): Promise<void> {
    return run(statements, ctx);
  }
  @TaskHandler('leave, grouped', { maxAttempts: 1, grouped: true })
  leaveGrouped(statements: Statements, ctx: TaskContext): Promise<void> {
    return run(statements, ctx);
  }
  @TaskHandler('look')
  async look(_: unknown, { db }: TaskContext): Promise<unknown> {
    return (await db.query(look)).rows[0];
  }
}

async function run({ texts, client, fails }: Statements, ctx: TaskContext): Promise<void> {
  const handle = client ? await ctx.client() : ctx.db;
  for (const text of texts) await handle.query(text);
  if (fails) throw new Error('as it was told');
}

let app: QueueApp;
let fresh: Record<string, unknown>;

/** Runs a task and answers how it ended. */
async function ended(topic: string, payload: object = {}): Promise<Record<string, unknown>> {
  const id = await app.queue.insertTask({ topic, payload });
  const { status, returned } = await app.app.get(QueueAdmin).waitFor(id, { timeoutMs: 20_000 });
  return { ...(returned as object), status };
}

beforeEach(async () => {
  // All tasks share one connection.
  app = await bench.start({ handlers: [Handlers], poolSize: 1, concurrency: 1 });
  fresh = await ended('look');
});

test.each([
  ['through ctx.db', 'leave', {}],
  ['through its client', 'leave', { client: true }],
  ['and fails', 'leave', { fails: true }],
  ['in a group', 'leave, grouped', {}],
  ['in a group, and fails', 'leave, grouped', { fails: true }],
])('what a handler leaves in its session %s, the next one does not find', async (_, topic, how) => {
  const warnings: string[] = [];
  app.events.on('warning', ({ message }) => warnings.push(message));
  const { fails = false } = how as { fails?: boolean };
  for (const text of leaving) {
    expect(await ended(topic, { texts: [text], ...how })).toMatchObject({
      status: fails ? 'failed' : 'succeeded',
    });
    const after = await ended('look');
    expect(after).toEqual({ ...fresh, session: expect.not.stringMatching(`^${String(fresh['session'])}$`) });
    fresh = after;
  }
  expect(warnings.filter((message) => message.includes('left something in the session'))).toHaveLength(1);
});

test('a connection in which nothing is left goes to the next task', async () => {
  const texts = onPostgres
    ? [
        'set local search_path to shop',
        `select set_config('app.tenant', '7', true)`,
        'create temp table leftover (n int) on commit drop',
        'select pg_advisory_xact_lock(7)',
      ]
    : ['select 7'];
  const warnings: string[] = [];
  app.events.on('warning', ({ message }) => warnings.push(message));
  expect(await ended('leave', { texts })).toMatchObject({ status: 'succeeded' });
  expect(await ended('leave', { texts, client: true })).toMatchObject({ status: 'succeeded' });
  const after = await ended('look');
  // The pool of mysql2 may lend another one anyway.
  expect([after, warnings]).toEqual([onPostgres ? fresh : { ...fresh, session: after['session'] }, []]);
});
