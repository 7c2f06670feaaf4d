import type { IncomingMessage } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { nextEvent, until } from '../support/waiting.js';
import { Subscriber, TaskHandler } from '../../lib/index.js';
import { useQueue } from '../worker/queue-bench.js';
import { act, ask } from './kit/ask.js';
import { startDashboardApp, type DashboardApp } from './kit/dashboard-app.js';
import { testOnPostgres, unlessTold } from '../support/run-database.js';

const bench = useQueue('tasks_schedule');
let app: DashboardApp;

beforeAll(async () => {
  app = await startDashboardApp(bench.database.url, {
    webhooks: { allowedAddresses: ['127.0.0.1'] },
    maxPayloadBytes: 50_000,
    dashboard: { actions: true, actor: () => 'ana' },
  });
});
afterEach(() => {
  app.told.length = 0;
});
afterAll(() => app.close());

class Declaring {
  @Subscriber('declared', { topic: 'declared' })
  take(): void {}
}

async function insert(columns: Readonly<Record<string, unknown>>): Promise<string> {
  const names = Object.keys(columns);
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')}) returning id`,
    Object.values(columns),
  );
  return rows[0]?.id ?? '';
}

test('each action does what it says, and is told with who did it', async () => {
  const later = new Date(Date.now() + 3_600_000);
  const failed = await insert({ processo: 'a', status: 'falha' });
  const retried = await act(app.url, 'retry', { id: failed });
  expect(retried).toMatchObject({ status: 200, body: { id: expect.stringMatching(/^\d+$/) } });
  const waiting = await insert({ processo: 'a', data_hora: later });
  expect((await act(app.url, 'cancel', { id: waiting, reason: ' not needed ' })).status).toBe(200);
  expect(await bench.row(waiting)).toMatchObject({
    status: 'falha',
    mensagem: 'not needed',
    cancelada_por: 'ana',
  });
  const buried = await insert({ processo: 'a', data_hora: later });
  const { body } = await act(app.url, 'bury', { id: buried });
  expect(await bench.row(String(body['id']))).toMatchObject({ dead: true, live_id: buried });
  expect(await bench.row(buried)).toMatchObject({ mensagem: 'buried by ana' });
  const scheduled = await insert({ processo: 'a', data_hora: later });
  expect((await act(app.url, 'run-now', { id: scheduled })).status).toBe(200);
  expect(await bench.statusOf(scheduled)).toBe('pendente');
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

test('schedules are listed without what their tasks hold, run, paused and resumed', async () => {
  const { schedules } = app.admin;
  await schedules.add({ id: 'digest', cron: '0 7 * * mon', task: { topic: 'send', payload: { to: 'ana' } } });
  const shown = { id: 'digest', topic: 'send', cron: '0 7 * * mon', every: null, timezone: 'UTC' };
  const stands = { declared: false, status: 'active', nextAt: expect.any(String), lastAt: null, missed: 0 };
  expect((await ask(`${app.url}/api/schedules`)).body).toEqual({
    schedules: [{ ...shown, ...stands, pausedAt: null }],
  });
  const { body } = await act(app.url, 'run-schedule', { id: 'digest' });
  expect(await bench.row(String(body['id']))).toMatchObject({ processo: 'send', status: 'pendente' });
  expect((await act(app.url, 'pause-schedule', { id: 'digest', paused: true })).status).toBe(200);
  expect(await schedules.find('digest')).toMatchObject({ status: 'paused' });
  expect((await act(app.url, 'pause-schedule', { id: 'digest', paused: false })).status).toBe(200);
  expect(await schedules.find('digest')).toMatchObject({ status: 'active' });
  expect((await act(app.url, 'run-schedule', { id: 'nobody' })).status).toBe(404);
  expect(app.told.map(({ action, target, actor, refused }) => [action, target, actor, refused])).toEqual([
    ['run-schedule', 'digest', 'ana', undefined],
    ['pause-schedule', 'digest', 'ana', undefined],
    ['pause-schedule', 'resume digest', 'ana', undefined],
    ['run-schedule', 'nobody', 'ana', expect.any(String)],
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
    pollIntervalMs: unlessTold,
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
    expect(body['values']).toEqual({ action, id, status: 'succeeded' });
    expect(body['message']).toContain('succeeded');
  }
  expect(await bench.statusOf(id)).toBe('sucesso');
  expect(app.told.map(({ refused }) => refused !== undefined)).toEqual([true, true, true, true]);
});

test.each<[string, string, unknown, number]>([
  ['no id', 'retry', {}, 400],
  ['an id that is none', 'retry', { id: '1 or 1=1' }, 400],
  ['a task that is gone', 'retry', { id: '999999' }, 404],
  ['no object', 'retry', [1], 400],
  ['no JSON', 'retry', '{', 400],
  ['nothing to pause', 'pause', { paused: true }, 400],
  ['a topic to pause that is too long', 'pause', { topic: 'x'.repeat(251), paused: true }, 400],
  ['a topic to pause with NUL', 'pause', { topic: 'a\0b', paused: true }, 400],
  [
    'a subscription to pause that is too long',
    'pause',
    { subscriptionId: 'x'.repeat(101), paused: true },
    400,
  ],
  ['both to pause', 'pause', { topic: 'a', subscriptionId: 'b', paused: true }, 400],
  ['a filter that means nothing', 'retry-all', { filter: { colour: 'red' }, lastId: '1', after: '0' }, 400],
  ['many tasks by their payloads', 'delete-all/count', { filter: { payload: 's3cret' } }, 400],
  ['both a filter and ids', 'cancel-all/count', { filter: {}, ids: [] }, 400],
  ['too many ids', 'cancel-all/count', { ids: Array.from({ length: 1_001 }, () => '1') }, 400],
  ['a task with a field that is mistyped', 'insert', { topic: 'a', delay: 5 }, 400],
  ['a task whose priority is none', 'insert', { topic: 'a', priority: 'high' }, 400],
  ['a payload that is too large', 'insert', { topic: 'a', payload: 'x'.repeat(60_000) }, 413],
  ['a place that is none', 'retry-all', { filter: {}, lastId: 'x', after: '0' }, 400],
  ['a subscription that is gone', 'edit-subscription', { id: 'nobody', active: true }, 404],
  ['a schedule that is gone', 'pause-schedule', { id: 'nobody', paused: true }, 404],
  ['a schedule that is neither paused nor resumed', 'pause-schedule', { id: 'nobody' }, 400],
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
  ['the page behind a proxy', { origin: 'https://ops.example', 'sec-fetch-site': 'same-origin' }, 404],
  [
    'another site that says it were a proxy',
    { origin: 'https://ops.example', 'x-forwarded-host': 'ops.example' },
    403,
  ],
  ['a program', {}, 404],
])('an action from %s', async (_who, headers, status) => {
  expect((await act(app.url, 'retry', { id: '999999' }, headers)).status).toBe(status);
});

const expressParser = (kind: 'text' | 'raw') => (one: INestApplication) =>
  (one as NestExpressApplication).useBodyParser(kind, { type: () => true });
const fastifyParser = (parseAs?: 'string' | 'buffer') => (one: INestApplication) => {
  const fastify = (one as NestFastifyApplication).getHttpAdapter().getInstance();
  fastify.removeAllContentTypeParsers();
  const keep = (_request: unknown, body: unknown, done: (error: null, body: unknown) => void): void =>
    done(null, body);
  if (parseAs) fastify.addContentTypeParser('*', { parseAs }, keep);
};

test.each<[string, 'express' | 'fastify', ((one: INestApplication) => void) | undefined]>([
  ['JSON', 'express', undefined],
  ['text', 'express', expressParser('text')],
  ['bytes', 'express', expressParser('raw')],
  ['nothing', 'express', () => undefined],
  ['JSON', 'fastify', undefined],
  ['text', 'fastify', fastifyParser('string')],
  ['bytes', 'fastify', fastifyParser('buffer')],
  ['nothing', 'fastify', fastifyParser()],
])('where an application reads bodies as %s, on %s, actions are understood', async (_as, adapter, parse) => {
  const other = await startDashboardApp(bench.database.url, {
    adapter,
    globalPrefix: 'api',
    ...(parse && { parse }),
  });
  expect((await act(other.url, 'pause', { topic: 'çã', paused: true })).status).toBe(200);
  expect(await app.admin.paused()).toMatchObject([{ topic: 'çã' }]);
  expect((await act(other.url, 'pause', { topic: 'çã', paused: false })).status).toBe(200);
  for (const body of ['{', '', '[1]', '{}']) {
    expect((await act(other.url, 'retry', body)).status, `for ${body}`).toBe(400);
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  expect((await act(other.url, 'retry', 'id=1', form)).status).toBeGreaterThanOrEqual(403);
  await other.close();
});

test('an application that reads bodies and keeps nothing is told so', async () => {
  const swallow = (request: IncomingMessage, _response: unknown, next: () => void): void =>
    void request.resume().on('end', next);
  const other = await startDashboardApp(bench.database.url, { parse: (one) => void one.use(swallow) });
  expect((await act(other.url, 'retry', { id: '1' })).body).toMatchObject({
    code: 'INPUT_INVALID',
    message: expect.stringContaining('read the body of this request but did not keep it'),
  });
  await other.close();
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
    'cancel-all',
    'delete-all/count',
    'retry-edited',
    'delete',
    'insert',
    'run-schedule',
    'pause-schedule',
    'add-subscription',
    'remove-subscription',
    'edit-subscription',
    'create-secret',
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
  expect(await bench.statusOf(id)).toBe('falha');
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
    blocks.push(body['done']);
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
    `insert into tasks_webhook (subscriber_id, secrets, failures, deactivated_at, deactivated_for) values ('crm', '[]', 9, now(), 'no success')`,
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
  // One that cannot be sent, and was stored by another program, can be switched off anyway.
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
  app.told.length = 0;
  const made = await act(app.url, 'create-secret', { id: 'crm' });
  expect(made).toMatchObject({
    status: 200,
    body: { secret: expect.stringMatching(/^whsec_/) as unknown },
  });
  expect(made.headers.get('cache-control')).toContain('no-store');
  expect(app.told).toEqual([{ action: 'create-secret', target: 'crm', actor: 'ana', refused: undefined }]);
  expect((await ask(`${app.url}/api/subscriptions/crm`)).body).toMatchObject({ endpoint: { signed: true } });
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

test('tasks that were selected are cancelled and deleted with a count first; a waiting one is deleted, its deliveries stay', async () => {
  const ids = [
    await insert({ processo: 'a' }),
    await insert({ processo: 'a', status: 'sucesso', pub_sub: true }),
    await insert({ processo: 'a', status: 'processando', executor: 1 }),
  ];
  const delivery = await insert({
    processo: 'a',
    status: 'falha',
    publication_id: ids[1],
    subscriber_id: 's',
  });
  expect((await act(app.url, 'cancel-all/count', { ids })).body).toMatchObject({ total: 1 });
  const plan = (await act(app.url, 'delete-all/count', { ids })).body;
  expect(plan).toMatchObject({ total: 2, counts: [{ topic: 'a', count: 2 }] });
  const block = { ids, lastId: plan['lastId'], after: '0' };
  expect((await act(app.url, 'cancel-all', block)).body).toEqual({ done: 1, after: null });
  expect(await bench.row(ids[0] ?? '')).toMatchObject({ mensagem: 'cancelled by ana', cancelada_por: 'ana' });
  // What was cancelled is retried where the filter names it, and else stays.
  expect((await act(app.url, 'retry-all/count', { ids })).body).toMatchObject({ total: 0 });
  expect((await act(app.url, 'retry-all/count', { filter: { topic: 'a' } })).body).toMatchObject({
    total: 1,
  });
  const cancelled = { filter: { status: 'cancelled' } };
  expect((await act(app.url, 'retry-all/count', cancelled)).body).toMatchObject({ total: 1 });
  const listed = await ask(`${app.url}/api/tasks?status=cancelled`);
  expect(listed.body).toMatchObject({ tasks: [{ id: ids[0], status: 'cancelled', cancelledBy: 'ana' }] });
  expect((await act(app.url, 'delete-all', block)).body).toEqual({ done: 2, after: null });
  const { rows } = await bench.pool.query('select id from tasks order by id');
  expect(rows.map(({ id }: { id: string }) => id)).toEqual([ids[2], delivery]);
  expect((await act(app.url, 'delete', { id: ids[2] })).body['code']).toBe('TASK_STATE');
  expect((await act(app.url, 'delete', { id: delivery })).body).toEqual({ attempts: 1 });
});

test('a redacted payload is edited for a retry: what still says so keeps its value, and nothing can be moved out', async () => {
  const payload = '{"to": "bob", "token": "s3cret", "list": [{"pin": 1234}]}';
  const id = await insert({ processo: 'a', status: 'falha', payload });
  expect((await ask(`${app.url}/api/tasks/${id}/payload`)).body).toMatchObject({
    isWhole: true,
    redacted: 2,
  });
  const edit = (text: string) => act(app.url, 'retry-edited', { id, payload: text });
  for (const moved of [
    '{"to":"[redacted]","token":"x"}',
    '{"to":"bob","note":"[redacted]"}',
    '{"list":[1,{"pin":"[redacted]"}]}',
    '[redacted]',
  ]) {
    expect([moved, (await edit(moved)).status]).toEqual([moved, 400]);
  }
  const { body } = await edit('{"to":"ann","token":"[redacted]","list":[{"pin":"[redacted]"}]}');
  expect(await bench.row(String(body['id']))).toMatchObject({
    payload: '{"to":"ann","token":"s3cret","list":[{"pin":1234}]}',
    metadados: { 'tarefa:edits': [{ by: 'ana', after: id }] },
  });
  expect((await bench.row(id)).payload).toBe(payload);
  const delivery = await insert({ status: 'falha', publication_id: id, subscriber_id: 's', payload: '{}' });
  expect((await act(app.url, 'retry-edited', { id: delivery, payload: '{}' })).status).toBe(409);
});

describe('of a payload whose numbers JavaScript would round', () => {
  const digits = '1970670598291982290';
  const stored = `{"id":${digits},"a":2, "password":"pw","rate":0.1000000000000000055511,"pin":98765432109876543210}`;

  test.each([
    ['its secrets were left as they are shown', (shown: string) => shown.replace('"a":2', '"a":3')],
    [
      'its secrets were typed again',
      (shown: string) =>
        shown
          .replace('"a":2', '"a":3')
          .replace('"[redacted]"', '"pw"')
          .replace('"[redacted]"', '98765432109876543210'),
    ],
  ])('every digit is kept where %s', async (_how, edit) => {
    const id = await insert({ processo: 'a', status: 'falha', payload: stored });
    const { body } = await ask(`${app.url}/api/tasks/${id}/payload`);
    const { text } = (body as unknown as { readonly payload: { readonly text: string } }).payload;
    expect(text).toBe(stored.replace('"pw"', '"[redacted]"').replace('98765432109876543210', '"[redacted]"'));
    const { body: retried } = await act(app.url, 'retry-edited', { id, payload: edit(text) });
    expect((await bench.row(String(retried['id']))).payload).toBe(stored.replace('"a":2', '"a":3'));
  });
});

test('payloads are searched as they are shown: a secret cannot be found out, what is told of a delivery is what was published', async () => {
  const plain = await insert({ processo: 'a', payload: '{"city":"Itu 100%","token":"s3cret"}' });
  const first = await insert({
    processo: 'a',
    status: 'falha',
    reenfileirado: true,
    payload: 'ITU 100% of it',
  });
  const next = await insert({
    processo: 'a',
    id_inicial: first,
    id_anterior: first,
    tentativa: 2,
    data_hora: new Date(Date.now() + 3_600_000),
  });
  const envelope = JSON.stringify({
    publication: '{"city":"Itu"}',
    subscription: { headers: { x: 'hidden itu 100%' } },
  });
  const delivery = await insert({ processo: 'a', subscriber_id: 's', publication_id: 1, payload: envelope });
  await insert({ processo: 'a', payload: `itu 100% ${'x'.repeat(70_000)}` });
  const found = async (query: string): Promise<unknown[]> => {
    const { body } = await ask(`${app.url}/api/tasks?${query}`);
    expect(body['next']).toBeNull();
    return (body['tasks'] as { id: string }[]).map(({ id }) => id);
  };
  expect(await found('payload=itu%20100%25')).toEqual([next, first, plain]);
  expect(await found('payload=itu%20100%25&status=retrying')).toEqual([next]);
  expect(await found(`payload=${encodeURIComponent('"city":"itu"')}`)).toEqual([delivery]);
  expect(await found('payload=s3cret')).toEqual([]);
  expect(app.told.map(({ action }) => action)).toEqual(Array.from({ length: 4 }, () => 'search-payloads'));
  expect(JSON.stringify(app.told)).not.toContain('s3cret');
});

testOnPostgres(
  'tasks that gave up are listed as they stand now, and by whether they were dealt with',
  async () => {
    const lost = await insert({ processo: 'a', status: 'falha', estouro_tentativas: true });
    await insert({ processo: 'a', status: 'falha', estouro_tentativas: true, reenfileirado: true });
    await insert({ processo: 'a', status: 'falha', estouro_tentativas: true, dead: true });
    await insert({ processo: 'a', status: 'falha' });
    const found = async (choice: string): Promise<readonly string[]> => {
      const { body } = await ask(`${app.url}/api/tasks?buried=${choice}`);
      return (body['tasks'] as { id: string }[]).map(({ id }) => id);
    };
    const buried = async () => (await ask(`${app.url}/api/overview`)).body['buried'];
    const dead = await insert({ processo: 'a', dead: true, live_id: lost });
    expect([await found('true'), await found('untreated'), await found('treated')]).toEqual([
      [lost],
      [lost],
      [],
    ]);
    expect(await buried()).toEqual({ treated: 0, untreated: 1, isCapped: false });
    await bench.pool.query(`update tasks set status = 'sucesso', mensagem = 'refunded' where id = $1`, [
      dead,
    ]);
    expect([await found('untreated'), await found('treated')]).toEqual([[], [lost]]);
    expect(await buried()).toEqual({ treated: 1, untreated: 0, isCapped: false });
    expect((await ask(`${app.url}/api/tasks?buried=maybe`)).body['message']).toContain(
      "buried must be true, false, treated or untreated, not 'maybe'",
    );
  },
);

test('a task is inserted, checked as producers are; subscriptions are added and removed, but one that is declared', async () => {
  const inserted = await act(app.url, 'insert', {
    topic: 'a',
    payload: '{"n":1}',
    delayMs: 3_600_000,
    priority: 7,
  });
  expect(await bench.row(String(inserted.body['id']))).toMatchObject({
    status: 'agendada',
    payload: '{"n":1}',
    prioridade: 7,
    payload_hash: expect.anything(),
  });
  const published = await act(app.url, 'insert', { topic: 'a', publication: true });
  expect((await bench.row(String(published.body['id']))).pub_sub).toBe(true);
  const added = await act(app.url, 'add-subscription', { id: 'new', topic: 'a' });
  expect(added.body).toMatchObject({ id: 'new', topic: 'a', active: true, declared: false });
  expect((await act(app.url, 'add-subscription', { id: 'new', topic: 'b' })).status).toBe(409);
  const declaring = await startDashboardApp(bench.database.url, { handlers: [Declaring] });
  try {
    const kept = await act(declaring.url, 'remove-subscription', { id: 'declared' });
    expect([kept.status, kept.body['code']]).toEqual([409, 'SUBSCRIPTION_DECLARED']);
    expect(
      (await act(declaring.url, 'edit-subscription', { id: 'declared', active: false })).body,
    ).toMatchObject({
      declared: true,
      active: false,
    });
  } finally {
    await declaring.close();
  }
  expect((await act(app.url, 'remove-subscription', { id: 'new' })).status).toBe(200);
  expect((await act(app.url, 'remove-subscription', { id: 'new' })).status).toBe(404);
});
