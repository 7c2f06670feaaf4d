import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { nextEvent, until } from '../support/waiting.js';
import { TaskHandler } from '../../lib/index.js';
import { useQueue } from '../worker/queue-bench.js';
import { act, ask } from './kit/ask.js';
import { startDashboardApp, type DashboardApp } from './kit/dashboard-app.js';

const bench = useQueue();
let app: DashboardApp;

beforeAll(async () => {
  app = await startDashboardApp(bench.database.url, {
    webhooks: { allowedAddresses: ['127.0.0.1'] },
    dashboard: { actions: true, actor: () => 'ana' },
  });
});
afterEach(() => {
  app.told.length = 0;
});
afterAll(() => app.close());

async function insert(columns: Readonly<Record<string, unknown>>): Promise<string> {
  const names = Object.keys(columns);
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')}) returning id`,
    Object.values(columns),
  );
  return rows[0]?.id ?? '';
}

const statusOf = async (id: string): Promise<unknown> => (await bench.row(id)).status;

test('each action does what it says, and is told with who did it', async () => {
  const later = new Date(Date.now() + 3_600_000);
  const failed = await insert({ processo: 'a', status: 'falha' });
  const retried = await act(app.url, 'retry', { id: failed });
  expect(retried).toMatchObject({ status: 200, body: { id: expect.stringMatching(/^\d+$/) } });
  const waiting = await insert({ processo: 'a', data_hora: later });
  expect((await act(app.url, 'cancel', { id: waiting, reason: ' not needed ' })).status).toBe(200);
  expect(await bench.row(waiting)).toMatchObject({ status: 'falha', mensagem: 'not needed' });
  const buried = await insert({ processo: 'a', data_hora: later });
  const { body } = await act(app.url, 'bury', { id: buried });
  expect(await bench.row(String(body['id']))).toMatchObject({ dead: true, live_id: buried });
  expect(await bench.row(buried)).toMatchObject({ mensagem: 'buried by ana' });
  const scheduled = await insert({ processo: 'a', data_hora: later });
  expect((await act(app.url, 'run-now', { id: scheduled })).status).toBe(200);
  expect(await statusOf(scheduled)).toBe('pendente');
  await act(app.url, 'pause', { topic: 'a', paused: true });
  expect(await app.admin.paused()).toMatchObject([{ topic: 'a' }]);
  await act(app.url, 'pause', { topic: 'a', paused: false });
  expect(await app.admin.paused()).toEqual([]);
  expect(app.told.map(({ action, target, actor, refused }) => [action, target, actor, refused])).toEqual([
    ['retry', failed, 'ana', undefined],
    ['cancel', waiting, 'ana', undefined],
    ['bury', buried, 'ana', undefined],
    ['run-now', scheduled, 'ana', undefined],
    ['pause', 'topic a', 'ana', undefined],
    ['pause', 'resume topic a', 'ana', undefined],
  ]);
});

test('what is run now is due at once: a worker that waits for its time starts it, and the attempt before names the new time', async () => {
  class Handlers {
    @TaskHandler('twice')
    twice(_payload: unknown, { task }: { task: { attempt: number } }): void {
      if (task.attempt === 1) throw new Error('not yet');
    }
  }
  const { queue, events } = await bench.start({
    handlers: [Handlers],
    retryIntervalMinutes: 60,
    pollIntervalMs: 0,
  });
  const failed = nextEvent(events, 'task.failed');
  const id = await queue.insertTask({ topic: 'twice' });
  await failed;
  const done = nextEvent(events, 'task.completed');
  expect((await act(app.url, 'run-now', { id })).status).toBe(200);
  await done;
  const [first, second] = await bench.chain(id);
  expect(first?.['proxima_tentativa']).toEqual(second?.['data_hora']);
});

test('what the state of a task does not allow is refused with a reason, changes nothing, and is told', async () => {
  const id = await insert({ processo: 'a', status: 'sucesso' });
  for (const action of ['retry', 'cancel', 'bury', 'run-now']) {
    const { status, body } = await act(app.url, action, { id });
    expect([action, status, body['code']]).toEqual([action, 409, 'TASK_STATE']);
    expect(body['message']).toContain('succeeded');
  }
  expect(await statusOf(id)).toBe('sucesso');
  expect(app.told.map(({ refused }) => refused !== undefined)).toEqual([true, true, true, true]);
});

test.each<[string, string, unknown, number]>([
  ['no id', 'retry', {}, 400],
  ['an id that is none', 'retry', { id: '1 or 1=1' }, 400],
  ['a task that is gone', 'retry', { id: '999999' }, 404],
  ['no object', 'retry', [1], 400],
  ['no JSON', 'retry', '{', 400],
  ['nothing to pause', 'pause', { paused: true }, 400],
  ['both to pause', 'pause', { topic: 'a', subscriptionId: 'b', paused: true }, 400],
  ['a filter that means nothing', 'retry-all', { filter: { colour: 'red' }, lastId: '1', after: '0' }, 400],
  ['a place that is none', 'retry-all', { filter: {}, lastId: 'x', after: '0' }, 400],
  ['a subscription that is gone', 'edit-subscription', { id: 'nobody', active: true }, 404],
  ['an action that there is not', 'delete-everything', {}, 404],
  ['a name that every object has', 'constructor', {}, 404],
])('%s is refused', async (_what, action, body, status) => {
  expect((await act(app.url, action, body)).status).toBe(status);
});

test.each<[string, Readonly<Record<string, string | undefined>>, number]>([
  ['another site, as the browser says', { 'sec-fetch-site': 'cross-site' }, 403],
  ['another one of the same owner', { 'sec-fetch-site': 'same-site' }, 403],
  ['the address bar', { 'sec-fetch-site': 'none' }, 403],
  ['another origin, of a browser that says no more', { origin: 'https://evil.example' }, 403],
  ['a sandboxed frame', { origin: 'null' }, 403],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 403],
  ['a form that looks like JSON', { 'content-type': 'text/plain' }, 403],
  ['a page without the header', { 'x-tarefa-dashboard': undefined }, 403],
  ['the page itself', { 'sec-fetch-site': 'same-origin' }, 404],
  [
    'the page behind a proxy that tells who it is',
    { origin: 'https://ops.example', 'x-forwarded-host': 'ops.example' },
    404,
  ],
  ['a program', {}, 404],
])('an action from %s', async (_who, headers, status) => {
  expect((await act(app.url, 'retry', { id: '999999' }, headers)).status).toBe(status);
});

test('what a dashboard may not do it does not, whoever asks', async () => {
  const readOnly = await startDashboardApp(bench.database.url, {
    dashboard: { actions: ['pause'], payloads: false },
  });
  const id = await insert({ processo: 'a', status: 'falha', payload: '{}' });
  for (const action of [
    'retry',
    'cancel',
    'bury',
    'run-now',
    'retry-all',
    'retry-all/count',
    'edit-subscription',
    'ping',
  ]) {
    expect(await act(readOnly.url, action, { id, filter: {} })).toMatchObject({
      status: 403,
      body: { code: 'ACTION_FORBIDDEN' },
    });
  }
  expect((await act(readOnly.url, 'pause', { topic: 'b', paused: false })).status).toBe(200);
  expect((await ask(`${readOnly.url}/api/tasks/${id}/payload`)).status).toBe(403);
  expect((await ask(`${readOnly.url}/api/tasks/${id}`)).body['actions']).toEqual([]);
  expect(await statusOf(id)).toBe('falha');
  await readOnly.close();
});

test('all that match are counted, and then retried in blocks; what fails meanwhile is not meant', async () => {
  await bench.pool.query(
    `insert into tasks (processo, status, mensagem)
     select case when n <= 1200 then 'mail' else 'stock' end, 'falha', 'refused' from generate_series(1, 1300) n`,
  );
  const filter = { topic: 'mail', status: 'failed', message: 'REFUSED' };
  const plan = (await act(app.url, 'retry-all/count', { filter })).body;
  expect(plan).toMatchObject({
    total: 1_200,
    counts: [{ topic: 'mail', subscriptionId: null, count: 1_200 }],
  });
  const late = await insert({ processo: 'mail', status: 'falha', mensagem: 'refused' });
  const blocks: unknown[] = [];
  for (let after: unknown = '0'; after !== null;) {
    const { body } = await act(app.url, 'retry-all', { filter, lastId: plan['lastId'], after });
    blocks.push(body['retried']);
    after = body['after'];
  }
  expect(blocks).toEqual([500, 500, 200]);
  const { rows } = await bench.pool.query(
    `select processo, count(*)::int as n from tasks where status = 'pendente' group by 1`,
  );
  expect(rows).toEqual([{ processo: 'mail', n: 1_200 }]);
  expect((await bench.row(late))['reenfileirado']).not.toBe(true);
});

test('a subscription: only what is given changes, secrets are not told, and one that is active again is as new', async () => {
  await bench.pool.query(
    `insert into tasks_subscriber (id, processo, url, http_method, headers, ativo)
     values ('crm', 'order-placed', 'http://127.0.0.1:9/hook?key=s3cret', 'PUT', '{"Authorization": "Bearer s3cret"}', false)`,
  );
  await bench.pool.query(
    `insert into tasks_webhook (subscriber_id, failures, deactivated_at, deactivated_for) values ('crm', 9, now(), 'no success')`,
  );
  const shown = await ask(`${app.url}/api/subscriptions/crm`);
  expect(shown.text).not.toMatch(/s3cret/);
  expect(shown.body).toMatchObject({
    headers: ['Authorization'],
    endpoint: { failures: 9, deactivatedFor: 'no success' },
  });
  const edited = await act(app.url, 'edit-subscription', { id: 'crm', active: true, topic: 'order-paid' });
  expect(edited).toMatchObject({
    status: 200,
    body: { active: true, topic: 'order-paid', endpoint: { failures: 0, deactivatedFor: null } },
  });
  const { rows } = await bench.pool.query(`select url, http_method, headers from tasks_subscriber`);
  expect(rows).toEqual([
    {
      url: 'http://127.0.0.1:9/hook?key=s3cret',
      http_method: 'PUT',
      headers: { Authorization: 'Bearer s3cret' },
    },
  ]);
  // One that cannot be sent, and was stored by another program, can be switched off all the same.
  await bench.pool.query(`update tasks_subscriber set url = 'http://ana:pw@127.0.0.1:9/'`);
  expect((await act(app.url, 'edit-subscription', { id: 'crm', active: false })).status).toBe(200);
  expect((await act(app.url, 'edit-subscription', { id: 'crm', headers: {} })).status).toBe(400);
  await bench.pool.query(`update tasks_subscriber set url = 'http://127.0.0.1:9/'`);
  expect((await act(app.url, 'edit-subscription', { id: 'crm', url: 'ftp://x' })).status).toBe(400);
  expect((await act(app.url, 'edit-subscription', { id: 'crm', created_at: 'x' })).status).toBe(400);
  expect((await act(app.url, 'ping', { id: 'crm' })).body).toMatchObject({
    ok: false,
    failure: expect.any(String),
  });
  await bench.pool.query('truncate tasks_webhook');
});

test('who looks at a payload is told, and secrets in it stay hidden', async () => {
  await bench.pool.query(
    `insert into tasks_subscriber (id, processo, url, headers) values ('erp', 't', 'http://127.0.0.1:9', '{"X-Key": "s3cret"}')`,
  );
  const { queue, events } = await bench.start({ retryIntervalMinutes: 60 });
  const delivered = nextEvent(events, 'publication.delivered');
  await queue.insertTaskPubSub({ topic: 't', payload: { n: 1, token: 's3cret' } });
  await delivered;
  await until(
    async () => (await bench.pool.query(`select from tasks where subscriber_id = 'erp'`)).rowCount !== 0,
    'a delivery',
  );
  const { rows } = await bench.pool.query<{ id: string }>(
    `select min(id) as id from tasks where subscriber_id = 'erp'`,
  );
  const { body, text } = await ask(`${app.url}/api/tasks/${rows[0]?.id}/payload`);
  expect(text).not.toContain('s3cret');
  expect(body).toMatchObject({
    isJson: true,
    redacted: 1,
    payload: { text: '{"n":1,"token":"[redacted]"}' },
  });
  expect(app.told).toEqual([
    { action: 'show-payload', target: rows[0]?.id, actor: 'ana', refused: undefined },
  ]);
});
