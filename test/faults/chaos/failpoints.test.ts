import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import type { QueueModuleOptions } from '../../../lib/index.js';
import { allClosed } from '../../support/connections.js';
import { createDatabase, type TestDatabase } from '../../support/database.js';
import { makeTemporaryFolder } from '../../support/folders.js';
import { forkChild, type Child } from '../../support/processes.js';
import { createQueue, withoutRoutines } from '../../support/queue-app.js';
import { until } from '../../support/waiting.js';
import { moments, pointedMethods, type ArmedPoint } from './failpoints.js';
import {
  scenarioGroups,
  withoutScenario,
  type FailpointScenario,
  type Moment,
} from './failpoint-scenarios.js';
import { HistoryWriter, now, readHistory, type Entry } from './history.js';
import { judge } from './judge.js';
import { createJudgesTables } from './schema.js';
import { subscriptions, taskKinds } from './workload/kinds.js';
import { scheduleTexts } from './workload/recurring.js';

// Over a minute: a process is killed before, at and after each statement that changes a state, some ninety times in all. Nothing
// else shows that a death between any two of them loses and doubles nothing.

const purgeMaxAgeDays = 30 / 86_400;
const recovery = { intervalMs: 300, confirmMs: 300, graceMs: 300 };
const options: QueueModuleOptions = {
  // Rounds of their own would reach points before their time.
  pollIntervalMs: 0,
  purgeMaxAgeDays,
  retryIntervalMinutes: 0,
  maxAttempts: 60,
  ...withoutRoutines,
};

test('every method with points has a scenario, or a reason to have none', () => {
  const covered = scenarioGroups.flat().map(({ method }) => method);
  expect([...new Set([...covered, ...Object.keys(withoutScenario)])].toSorted()).toEqual(
    [...pointedMethods()].toSorted(),
  );
});

describe.concurrent('a worker is killed there, another one heals:', () => {
  test.each(scenarioGroups.map((group) => ({ names: group.map(({ name }) => name).join(', '), group })))(
    '$names',
    async ({ group }) => {
      const database = await createDatabase();
      const folder = await makeTemporaryFolder();
      const history = new HistoryWriter(folder, 'test');
      try {
        await createQueue(database);
        await createJudgesTables(database.pool);
        const bench: Bench = { database, folder, history };
        for (const scenario of group) {
          for (const moment of scenario.moments ?? moments) {
            const died = await killAt(bench, scenario, moment);
            expect(died).toEqual({ ...died, ...expected(scenario, moment) });
          }
        }
        await heal(bench);
        const violations = await judge(
          { db: database.pool, history: readHistory(folder) },
          { purgeMaxAgeDays, pollIntervalMs: 600_000 },
        );
        expect(violations).toEqual([]);
      } finally {
        history.close();
        await database.drop();
      }
    },
    300_000,
  );
});

interface Bench {
  readonly database: TestDatabase;
  readonly folder: string;
  readonly history: HistoryWriter;
}

interface Death {
  readonly scenario: string;
  readonly point: string;
  readonly signal: NodeJS.Signals | null;
  /** What the process wrote down as its last act. */
  readonly hit: readonly string[];
  readonly status: string;
}

function expected(scenario: FailpointScenario, moment: Moment): object {
  const point = `${scenario.method}:${moment}`;
  const status = moment === 'before' ? scenario.from : moment === 'after' ? scenario.to : undefined;
  return {
    scenario: scenario.name,
    point,
    signal: 'SIGKILL',
    hit: [...(scenario.first ? [scenario.first.point] : []), point],
    // What was sent and not answered may or may not be there yet.
    ...(status === undefined ? {} : { status }),
  };
}

/** Brings a worker to the point where it kills itself; returns how that looked from outside. */
async function killAt(bench: Bench, scenario: FailpointScenario, moment: Moment): Promise<Death> {
  const { method, hit = 1, first } = scenario;
  const point = `${method}:${moment}`;
  const key = await prepareTask(bench, scenario, moment);
  const victim = startWorker(
    bench,
    [...(first ? [first] : []), { point, hit, action: 'kill' }],
    scenario.orphaned || scenario.interop === 'abandoned' ? recovery : false,
    scenario.interop && 'nsj',
  );
  if (scenario.purges) {
    await until(async () => (await statusOf(bench, key)) === 'sucesso', `${key} is over`);
    victim.send({ type: 'purge' });
  }
  const { signal } = await victim.exit;
  // What it sent last may still be under way, and would claim the next task for a worker that is gone.
  await allClosed(bench.database);
  return {
    scenario: scenario.name,
    point,
    signal,
    hit: pointsOf(bench, victim),
    status: await statusOf(bench, key),
  };
}

async function heal(bench: Bench): Promise<void> {
  const healer = startWorker(bench, [], recovery, 'nsj');
  await healer.message('ready');
  await until(
    async () => {
      const { rows } = await bench.database.pool.query<{ n: number }>(
        `select count(*)::int as n from tasks where status in ('pendente', 'agendada', 'processando')`,
      );
      return rows[0]?.n === 0;
    },
    'another worker brings everything to its end',
    30_000,
  );
  healer.send({ type: 'close' });
  expect((await healer.exit).code).toBe(0);
}

function startWorker(
  { database, folder }: Bench,
  points: readonly ArmedPoint[],
  recover: typeof recovery | false,
  interop?: 'nsj',
): Child {
  return forkChild('chaos-worker', {
    env: {
      DATABASE_URL: database.url,
      QUEUE_OPTIONS: JSON.stringify({ ...options, recovery: recover, interop }),
      CHAOS_HISTORY: folder,
      CHAOS_POINTS: JSON.stringify(points),
    },
  });
}

async function prepareTask(
  { database: { pool }, history }: Bench,
  scenario: FailpointScenario,
  moment: Moment,
): Promise<string> {
  const key = `${scenario.name} ${moment}`;
  if (scenario.kind === undefined) return key;
  const isPublication = scenario.kind === 'publication';
  const kind = taskKinds.find(({ name }) => name === scenario.kind);
  const topic = isPublication ? 'news' : kind?.topic;
  const payload =
    scenario.kind === 'large'
      ? { text: 'x'.repeat(100_000) }
      : { failures: scenario.kind === 'flaky transaction' ? 1 : 0 };
  const expectedCopies = subscriptions.filter((one) => one.topic === topic).map(({ id }) => id);
  history.write({
    event: 'attempted',
    key,
    kind: scenario.kind,
    wall: now().wall,
    ...(isPublication ? { subscriptions: expectedCopies } : {}),
  });
  if (scenario.recurring) {
    await insertSchedule(pool, { id: key, topic: topic ?? '', payload });
    history.write({ event: 'acked', key, wall: now().wall });
    return key;
  }
  const { rows } = await pool.query<{ id: string }>(
    `insert into tasks (processo, payload, origem, pub_sub, data_hora)
     values ($1, $2, $3, $4, clock_timestamp() + $5::float8 * interval '1 second') returning id::text`,
    [
      topic,
      JSON.stringify(payload),
      key,
      isPublication,
      scenario.scheduled ? 0.05 : scenario.purges ? -60 : 0,
    ],
  );
  // Now it is due, and the file still says later.
  if (scenario.scheduled) await pause(60);
  history.write({ event: 'acked', key, wall: now().wall });
  if (scenario.interop === 'abandoned') {
    await pool.query(`update tasks set status = 'processando' where id = $1`, [rows[0]?.id]);
  }
  if (scenario.orphaned) {
    // One lost worker has them all, so that they are recovered together and not one of an earlier step first.
    await pool.query(
      `with made as (
         insert into tasks_worker (host, pid, version, concurrency, routes)
         select 'gone', 1, '0', 1, '{}' where not exists (select from tasks_worker where host = 'gone') returning id
       ),
       gone as (select id from made union all select id from tasks_worker where host = 'gone')
       update tasks set status = 'processando', executor = gone.id, reserva = reserva + 1, iniciada_em = clock_timestamp()
       from gone where tasks.id = $1`,
      [rows[0]?.id],
    );
  }
  return key;
}

/** Due now, for the last time. */
async function insertSchedule(
  pool: Pool,
  { id, topic, payload }: { readonly id: string; readonly topic: string; readonly payload: object },
): Promise<void> {
  const endsAt = new Date();
  const texts = scheduleTexts({ every: 86_400_000, endsAt }, { topic, payload, origin: id });
  await pool.query(
    'insert into tasks_schedule (id, declared, rule, task, next_at) values ($1, false, $2, $3, $4)',
    [id, ...texts, endsAt],
  );
}

/** Status of the first attempt, that it was deleted, or that there is none. */
async function statusOf({ database: { pool } }: Bench, key: string): Promise<string> {
  const { rows } = await pool.query<{ status: string }>(
    `select status from tasks
     where origem = $1 and id_anterior is null and not dead and publication_id is null
     union all select 'gone' from gone where origem = $1`,
    [key],
  );
  return rows[0]?.status ?? 'none';
}

function pointsOf({ folder }: Bench, victim: Child): readonly string[] {
  return readFileSync(join(folder, `worker-${victim.pid}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry)
    .flatMap((entry) => (entry.event === 'failpoint' ? [entry.point] : []));
}
