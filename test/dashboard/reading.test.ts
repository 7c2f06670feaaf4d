import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OverviewJson, TaskDetailsJson, TasksJson } from '../../lib/dashboard/api.js';
import { TaskHandler } from '../../lib/index.js';
import { withinOneMinute } from '../support/one-minute.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { ask } from './kit/ask.js';
import { startDashboardApp, type DashboardApp } from './kit/dashboard-app.js';
import { testOnPostgres } from '../support/run-database.js';

const bench = useQueue();
let app: DashboardApp;

beforeAll(async () => {
  app = await startDashboardApp(bench.database.url, { webhooks: true, dashboard: { redact: ['cpf'] } });
});
afterAll(() => app.close());

async function overview(): Promise<OverviewJson> {
  return (await ask(`${app.url}/api/overview`)).body as unknown as OverviewJson;
}

async function problems(): Promise<readonly Record<string, unknown>[]> {
  return (await overview()).problems;
}

async function task(id: string): Promise<TaskDetailsJson> {
  return (await ask(`${app.url}/api/tasks/${id}`)).body as unknown as TaskDetailsJson;
}

const waiting = (columns: string, values: string) =>
  bench.pool.query(
    `insert into tasks (data_hora, ${columns}) values (now() - interval '1 minute', ${values})`,
  );

class Mail {
  @TaskHandler('mail')
  mail(): void {}
}

test('an idle queue has no problem', async () => {
  expect(await problems()).toEqual([]);
});

test('tasks that no worker has a handler for, by topic, subscription, and whether a worker lives at all', async () => {
  await waiting('processo', `'mail'`);
  expect(await problems()).toMatchObject([{ kind: 'no-worker', topic: 'mail', count: 1, isCapped: false }]);
  // A paused worker takes nothing, and is there.
  await bench.pool.query(`insert into tasks_paused (route) values ('t:mail'), ('t:other'), ('s:crm'), ('p')`);
  await bench.start({ handlers: [Mail], unknownTasks: 'leave' });
  await bench.pool.query(`delete from tasks_paused where route in ('t:other', 's:crm')`);
  await waiting('processo', `'other'`);
  await waiting('processo, subscriber_id, publication_id', `'paid', 'crm', 1`);
  await waiting('processo, pub_sub', `'paid', true`);
  await bench.pool.query(
    `insert into tasks_subscriber (id, processo, url, ativo) values ('code', 'paid', null, true), ('resting', 'paid', null, false),
     ('crm', 'paid', 'https://a.test', true)`,
  );
  expect((await problems()).filter(({ kind }) => kind === 'unheard')).toEqual([
    { kind: 'unheard', topic: 'paid', subscriptionId: 'code' },
  ]);
  const found = (await problems()).filter(({ kind }) => kind === 'no-worker');
  // `mail` is paused, and publications need no handler.
  expect(new Set(found.map(({ topic, subscriptionId }) => subscriptionId ?? topic))).toEqual(
    new Set(['crm', 'other']),
  );
  expect(found.every(({ waitingMs }) => Number(waitingMs) > 55_000)).toBe(true);
  await bench.pool.query('truncate tasks_paused');
});

test('a task that gave up needs attention until a dead handler has dealt with it', async () => {
  const insert = async (columns: string, values: string): Promise<string> => {
    const text = `insert into tasks (${columns}) values (${values}) returning id`;
    return (await bench.pool.query<{ id: string }>(text)).rows[0]?.id ?? '';
  };
  const live = await insert('processo, status, estouro_tentativas', `'mail', 'falha', true`);
  const said = `'sucesso', 'manual intervention is needed: topic ''mail'' gave up, and no dead handler is registered'`;
  const dead = await insert('processo, dead, live_id, status, mensagem', `'mail', true, ${live}, ${said}`);
  expect(await problems()).toEqual([{ kind: 'untreated', count: 1, isCapped: false }]);
  await bench.pool.query(`update tasks set mensagem = 'refunded' where id = $1`, [dead]);
  expect(await problems()).toEqual([]);
  expect((await overview()).buried).toEqual({ treated: 1, untreated: 0, isCapped: false });
});

test('rows that must not be there', async () => {
  const text = `insert into tasks (processo, status, reenfileirado) values ('mail', 'falha', true) returning id`;
  const { rows } = await bench.pool.query<{ id: string }>(text);
  // What was found is told for some seconds.
  const other = await startDashboardApp(bench.database.url, {});
  const { body } = await ask(`${other.url}/api/overview`);
  await other.close();
  const ids = [String(rows[0]?.id)];
  expect(body['problems']).toEqual([
    { kind: 'inconsistent', inconsistency: 'no-next-attempt', count: 1, ids },
  ]);
});

test('what is paused, and how much waits behind it', async () => {
  await app.admin.pause({ subscriptionId: 'crm' });
  await waiting('processo, subscriber_id, publication_id', `'paid', 'crm', 1`);
  expect(await problems()).toMatchObject([{ kind: 'paused', subscriptionId: 'crm', count: 1 }]);
  await app.admin.resume({ subscriptionId: 'crm' });
});

test('endpoints that rest, and those that were taken out of service', async () => {
  await bench.pool.query(
    `insert into tasks_subscriber (id, processo, url, ativo) values ('crm', 'paid', 'http://a', true), ('erp', 'paid', 'http://b', false), ('ok', 'paid', 'http://c', true)`,
  );
  await bench.pool.query(
    `insert into tasks_webhook (subscriber_id, secrets, failures, open_until, deactivated_at, deactivated_for) values
     ('crm', '[]', 5, now() + interval '1 hour', null, null), ('erp', '[]', 9, null, now(), 'gone'), ('ok', '[]', 1, now() - interval '1 hour', now(), 'long ago')`,
  );
  expect(await problems()).toMatchObject([
    { kind: 'deactivated', subscriptionId: 'erp', reason: 'gone' },
    { kind: 'open-circuit', subscriptionId: 'crm', failures: 5, until: expect.any(String) },
  ]);
  await bench.pool.query('truncate tasks_webhook');
});

testOnPostgres(
  'a topic that fails more often than not, handlers that are not there, and waiting that grows',
  async () => {
    await bench.pool.query(
      `insert into tasks (processo, data_hora) values ('mail', now() - interval '10 minutes')`,
    );
    const other = await startDashboardApp(bench.database.url, {});
    const { body } = await withinOneMinute(bench.pool, async () => {
      await bench.pool.query('truncate tasks_history');
      await bench.pool.query(
        `insert into tasks_history (at, route, succeeded, failed, unhandled, lag_ms, delivered)
       select date_trunc('minute', now()) - m * interval '1 minute', route, good, bad, unknown, lag,
         case when route = 't:unheard of' then 3 else 0 end
       from generate_series(1, 5) m, lateral (values
         ('t:mail', 2, 3, 0, null), ('t:stock', 30, 2, 0, null), ('t:rare', 0, 1, 0, null), ('t:nobody', 0, 4, 4, null), ('t:unheard of', 0, 0, 2, null),
         ('', 0, 0, 0, (10 - m) * 20000)) one (route, good, bad, unknown, lag)`,
      );
      return ask(`${other.url}/api/overview`);
    });
    const found = body['problems'] as readonly Record<string, unknown>[];
    expect(found.find(({ kind }) => kind === 'failing')).toMatchObject({
      topic: 'mail',
      failed: 15,
      ended: 25,
    });
    expect(found.filter(({ kind }) => kind === 'failing')).toHaveLength(1);
    expect(found.filter(({ kind }) => kind === 'discarded')).toMatchObject([
      { topic: 'unheard of', count: 10 },
    ]);
    expect(found.filter(({ kind }) => kind === 'unknown-handler')).toMatchObject([
      { topic: 'nobody', failures: 20 },
    ]);
    expect(found.find(({ kind }) => kind === 'lag-growing')).toMatchObject({
      beforeMs: 100_000,
      overMs: 300_000,
    });
    await other.close();
    await bench.pool.query('truncate tasks_history');
  },
);

testOnPostgres(
  'a session that holds an old snapshot is told, by name and never by what it runs',
  async () => {
    const client = await bench.connect();
    await client.query(`set application_name = 'report'`);
    await client.query('begin isolation level repeatable read');
    await client.query(`select 'a secret'`);
    // Ten minutes are too long to wait for: what a report says of it is enough.
    const { findProblems } = await import('../../lib/admin/problems.js');
    const { readQueueStatus } = await import('../../lib/storage/postgres/reports/queue-status.js');
    const { inTransaction } = await import('../../lib/storage/postgres/connections/own-pool.js');
    const { queueTables } = await import('../../lib/storage/postgres/identifiers.js');
    const report = await readQueueStatus(
      queueTables('public', 'tasks', { schema: 'public', table: 'tasks_subscriber' }),
      (work) => inTransaction(bench.pool, work),
      { findPurgeable: () => Promise.reject(new Error('not asked for')) },
      false,
      { ended: false, purgeable: false, purgeMaxAgeDays: 60 },
    );
    const holder = report.oldestSnapshot;
    const nothing = {
      history: { stepMs: 60_000, points: [], routes: [] },
      endpoints: [],
      inconsistencies: [],
      stalled: undefined,
    };
    const old = { ...report, oldestSnapshot: holder && { ...holder, sinceMs: 700_000 } };
    expect(findProblems({ report, ...nothing })).toEqual([]);
    const [problem] = findProblems({ report: old, ...nothing });
    expect(problem).toMatchObject({
      kind: 'old-snapshot',
      sinceMs: 700_000,
      holder: expect.stringContaining('report'),
    });
    expect(JSON.stringify(problem)).not.toContain('secret');
    await client.query('rollback');
  },
);

test('a task with all that is around it', async () => {
  await bench.pool.query(
    `insert into tasks_subscriber (id, processo) values ('crm', 'paid'), ('erp', 'paid')`,
  );
  class Readers {
    @TaskHandler('other')
    other(): void {}
  }
  const { queue, events } = await bench.start({
    handlers: [Readers],
    unknownTasks: 'fail',
    maxAttempts: 1,
    retryIntervalMinutes: 0,
  });
  const buried = nextEvent(events, 'task.buried', ({ task: { subscriptionId } }) => subscriptionId === 'crm');
  const id = await queue.insertTaskPubSub({
    topic: 'paid',
    payload: {},
    metadata: { cpf: '1', shop: 'Ana' },
  });
  const { task: crm } = await buried;
  const publication = await task(id);
  expect(publication.metadata).toEqual({ cpf: '[redacted]', shop: 'Ana' });
  expect(new Set(publication.deliveries.map(({ subscriptionId }) => subscriptionId))).toEqual(
    new Set(['crm', 'erp']),
  );
  const delivery = await task(crm.id);
  expect(delivery.publication?.id).toBe(id);
  expect(delivery.deliveries.map(({ subscriptionId }) => subscriptionId)).toEqual(['erp']);
  expect(delivery.attempts).toMatchObject([
    {
      attempt: 1,
      status: 'failed',
      exhausted: true,
      error: { text: expect.stringContaining('not registered') },
    },
  ]);
  expect(delivery.deadTasks).toHaveLength(1);
  const dead = await task(delivery.deadTasks[0]?.id ?? '');
  expect(dead.liveTask?.id).toBe(crm.id);
  expect(dead.current.dead).toBe(true);
});

test('what is to be hidden is hidden in what is said of a task too, in the list and beside other tasks', async () => {
  const said = 'Error: 400 of /customers?cpf=123';
  const insert = `insert into tasks (processo, status, mensagem, erro, live_id, dead) values ('said', 'falha', $1, $2, $3, $4) returning id`;
  const { rows } = await bench.pool.query<{ id: string }>(insert, [said, said, null, false]);
  const id = String(rows[0]?.id);
  await bench.pool.query(insert, [said, said, id, true]);
  const { current, attempts, deadTasks } = await task(id);
  const { tasks } = (await ask(`${app.url}/api/tasks?topic=said`)).body as unknown as TasksJson;
  expect(tasks).toHaveLength(2);
  const shown = [
    current.message,
    attempts[0]?.error,
    attempts[0]?.message,
    ...[...deadTasks, ...tasks].map(({ message }) => message),
  ];
  expect(shown.map((one) => one?.text)).toEqual(shown.map(() => said.replace('123', '[redacted]')));
});

test('long texts are cut, and said to be; the latest attempts of very many are shown, the oldest first', async () => {
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, status, erro, resultado) values ('a', 'falha', repeat('e', 50000), '"' || repeat('r', 49999)) returning id`,
  );
  const first = rows[0]?.id ?? '';
  await bench.pool.query(
    `insert into tasks (processo, status, id_inicial, tentativa) select 'a', 'falha', $1, n from generate_series(2, 260) n`,
    [first],
  );
  const found = await task(first);
  expect(found.attemptsTotal).toBe(260);
  expect(found.attempts.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 200 }, (_, n) => n + 61));
  await bench.pool.query('delete from tasks where tentativa > 1');
  const alone = (await task(first)).attempts[0];
  expect(alone?.error).toMatchObject({ length: 50_000, text: 'e'.repeat(20_000) });
  // JSON that was cut cannot be read any more, and may hold what would have been redacted.
  expect(alone?.result).toMatchObject({ length: 50_000, text: '[redacted]' });
});

test.each([
  ['null', null, { payload: null, bytes: 0 }],
  ['text', 'not {json', { isJson: false, payload: { text: 'not {json' } }],
  ['JSON null', 'null', { isJson: true, payload: { text: 'null' } }],
  ['more than a megabyte', `"${'x'.repeat(1_100_000)}"`, { payload: null, bytes: 1_100_002 }],
  [
    'less than that',
    `"${'x'.repeat(900_000)}"`,
    { isJson: true, bytes: 900_002, payload: { length: 900_002 } },
  ],
  [
    'deep JSON with a secret',
    `${'['.repeat(20_000)}{"cpf":1}${']'.repeat(20_000)}`,
    { isJson: true, redacted: 1 },
  ],
])('a payload of %s', async (_what, payload, expected) => {
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (payload) values ($1) returning id`,
    [payload],
  );
  const { status, body, text } = await ask(`${app.url}/api/tasks/${rows[0]?.id}/payload`);
  expect(status).toBe(200);
  expect(body).toMatchObject(expected);
  expect(text.length).toBeLessThan(250_000);
});

test.each([
  'tasks?limit=0',
  'tasks?limit=101',
  'tasks?status=lost',
  'tasks?since=yesterday',
  'tasks?after=x',
  'tasks?dead=1',
  'tasks/x',
  'tasks/x/payload',
  'history?range=week',
  'tasks?topic=a&topic=b',
])('%s is refused with a reason', async (path) => {
  const { status, body } = await ask(`${app.url}/api/${path}`);
  expect(status).toBe(400);
  expect(body).toMatchObject({ code: 'INPUT_INVALID', message: expect.any(String) });
});

test('what the database says is not passed on', async () => {
  const broken = await startDashboardApp(bench.database.url, {});
  await bench.pool.query('alter table tasks rename to tasks_gone');
  try {
    const { status, body, text } = await ask(`${broken.url}/api/tasks`);
    expect(status).toBe(503);
    expect(body['code']).toBe('DATABASE_FAILED');
    expect(text).not.toContain('relation');
  } finally {
    await bench.pool.query('alter table tasks_gone rename to tasks');
    await broken.close();
  }
});
