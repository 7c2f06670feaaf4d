import { Injectable } from '@nestjs/common';
import { expect, test, vi } from 'vitest';
import {
  DeadTaskHandler,
  Snooze,
  Subscriber,
  TaskHandler,
  TenantDatabases,
  type TaskContext,
  type TenantDb,
} from '../../lib/index.js';
import { LogLines } from '../support/log-lines.js';
import { subscribe } from '../support/subscriptions.js';
import { until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { startStandIn, tokenAnswer, type StandIn } from './kit/stand-in.js';
import { secretMark, useTenants } from './kit/tenants.js';

const bench = useQueue();
const tenantOf = useTenants('1', '2');

/** A handler that notes in its tenant's database what it is told to. */
@Injectable()
class Notes {
  last: TenantDb | undefined;

  @TaskHandler('note')
  async note(text: string, ctx: TaskContext): Promise<string> {
    const db = await ctx.tenantDb();
    this.last = db;
    await db.query('insert into note values ($1)', [text]);
    if (text === 'fail') throw new Error('on purpose');
    return `noted for ${db.tenant}`;
  }

  @DeadTaskHandler('note')
  async dead(text: string, ctx: TaskContext): Promise<void> {
    await (await ctx.tenantDb()).query('insert into note values ($1)', [`dead ${text}`]);
  }

  @Subscriber('notes')
  async delivered(text: string, ctx: TaskContext): Promise<void> {
    await (await ctx.tenantDb()).query('insert into note values ($1)', [`delivered ${text}`]);
  }
}

/** Everything that the table and a log tell of some attempts. */
async function told(lines: LogLines): Promise<string> {
  const { rows } = await bench.pool.query('select * from tasks');
  return JSON.stringify([rows, lines.of()]);
}

const oneTry = { retryIntervalMinutes: 0, maxAttempts: 1 };

test('a handler gets a connection to the database that the service names for its tenant', async () => {
  const standIn = await startStandIn(tenantOf('1'), tenantOf('2'));
  const { queue, app, events } = await bench.start({
    handlers: [Notes],
    tenantDatabases: { service: standIn.service },
    ...oneTry,
  });
  await subscribe(bench.database, [{ id: 'notes', tenant: 2 }]);
  const ids = await queue.insertTasks([
    { topic: 'note', tenant: 1, payload: 'one' },
    { topic: 'note', tenant: 2, payload: 'two' },
    { topic: 'note', tenant: 2, payload: 'fail' },
  ]);
  await queue.insertTaskPubSub({ topic: 'order-placed', tenant: 2, payload: 'three' });
  expect(await bench.ended(ids[0] ?? '')).toMatchObject({ status: 'sucesso', mensagem: 'noted for 1' });
  expect(await bench.ended(ids[1] ?? '')).toMatchObject({ status: 'sucesso', mensagem: 'noted for 2' });
  expect(await bench.ended(ids[2] ?? '')).toMatchObject({ status: 'falha' });
  await until(
    async () => (await tenantOf('2').notes()).length === 4,
    'its dead task and the delivery have run',
  );
  expect(await tenantOf('1').notes()).toEqual(['one']);
  // What was done there stays, though the attempt failed: it is no part of the queue's transaction.
  expect(await tenantOf('2').notes()).toEqual(['dead fail', 'delivered three', 'fail', 'two']);
  // Handed back after success and after failure, and closed with the application.
  const tenants = app.get(TenantDatabases, { strict: false });
  await until(async () => tenants.stats().every(({ inUse }) => inUse === 0), 'no connection is lent');
  expect(events.has('tenant.failed')).toBe(true);
  await expect(app.get(Notes, { strict: false }).last?.query('select 1')).rejects.toMatchObject({
    code: 'TASK_ENDED',
  });
  await app.close();
  await until(async () => (await tenantOf('2').connections()) === 0, 'its connections are closed');
  expect(standIn.asked.map(({ body }) => body).sort()).toEqual(['{"tenant":1}', '{"tenant":2}']);
});

test('a task without a tenant fails with an error that says so', async () => {
  const standIn = await startStandIn(tenantOf('1'));
  const { queue } = await bench.start({
    handlers: [Notes],
    tenantDatabases: { service: standIn.service },
    ...oneTry,
  });
  const id = await queue.insertTask({ topic: 'note', payload: 'nobody' });
  expect(await bench.ended(id)).toMatchObject({
    status: 'falha',
    mensagem: expect.stringContaining('a task without a tenant'),
  });
  expect(standIn.requests).toEqual([]);
});

test('concurrent first tasks make one token request, and later ones reuse the token', async () => {
  const standIn = await startStandIn(tenantOf('1'), tenantOf('2'));
  const { queue } = await bench.start({
    handlers: [Notes],
    tenantDatabases: { service: standIn.service },
    concurrency: 20,
  });
  const inputs = Array.from({ length: 40 }, (_, n) => ({
    topic: 'note',
    tenant: (n % 2) + 1,
    payload: `n${n}`,
  }));
  for (const id of await queue.insertTasks(inputs)) await bench.ended(id);
  expect(standIn.grants).toHaveLength(1);
  const { user, password, clientId } = standIn.service;
  expect(standIn.grants[0]).toEqual({
    grant_type: 'password',
    username: user,
    password,
    client_id: clientId,
    scope: 'offline_access',
  });
  expect(standIn.asked).toHaveLength(2);
  expect((await tenantOf('1').notes()).length + (await tenantOf('2').notes()).length).toBe(40);
});

test.each<readonly [string, (standIn: StandIn) => void, RegExp]>([
  [
    '401',
    (standIn) => (standIn.onAsk = () => ({ status: 401, text: secretMark })),
    /credentials service .* answered 401/,
  ],
  [
    '500',
    (standIn) => (standIn.onAsk = () => ({ status: 500, text: secretMark })),
    /credentials service .* answered 500/,
  ],
  [
    'silence',
    (standIn) => (standIn.onAsk = () => () => undefined),
    /credentials service .* not answer within 1500 ms/,
  ],
  [
    'a refused password',
    (standIn) => (standIn.onGrant = () => ({ status: 401 })),
    /token service .* answered 401/,
  ],
  ['no JSON', (standIn) => (standIn.onAsk = () => ({ text: `<${secretMark}>` })), /did not answer with JSON/],
  [
    'a wrong password for the database',
    (standIn) =>
      (standIn.onAsk = () => {
        const { host, port, database, user } = tenantOf('1').config;
        return { json: { hostname: host, port, db_name: database, user, password: `${secretMark}!` } };
      }),
    /tenant 1 cannot be used: password authentication failed/,
  ],
])('%s is an ordinary failure, and nothing secret is told', async (_, spoil, message) => {
  const standIn = await startStandIn(tenantOf('1'));
  spoil(standIn);
  const lines = new LogLines();
  const { queue } = await bench.start({
    handlers: [Notes],
    tenantDatabases: { service: { ...standIn.service, timeoutMs: 1_500 } },
    retryIntervalMinutes: 0,
    maxAttempts: 2,
    logDebug: true,
    logger: lines,
  });
  const id = await queue.insertTask({ topic: 'note', tenant: 1, payload: 'x' });
  // Two attempts and the dead task, which fares no better.
  const rows = await bench.endedChain(id, 4);
  expect(rows.map(({ status }) => status)).toEqual(['falha', 'falha', 'falha', 'falha']);
  for (const { mensagem } of rows) expect(mensagem).toMatch(message);
  expect(lines.of('warn').join('\n')).toMatch(message);
  expect(await told(lines)).not.toContain(secretMark);
});

test('nothing secret is told when all goes well, either', async () => {
  const standIn = await startStandIn(tenantOf('1'));
  standIn.onGrant = () => tokenAnswer({ expires_in: 0 });
  const lines = new LogLines();
  const { queue } = await bench.start({
    handlers: [Notes],
    tenantDatabases: { service: standIn.service },
    logDebug: true,
    logger: lines,
  });
  await bench.ended(await queue.insertTask({ topic: 'note', tenant: 1, payload: 'x' }));
  expect(lines.of().length).toBeGreaterThan(3);
  expect(await told(lines)).not.toContain(secretMark);
});

test.each(['false', undefined])('with MULTI_DATABASE=%s there is no HTTP call', async (value) => {
  const standIn = await startStandIn(tenantOf('1'));
  vi.stubEnv('MULTI_DATABASE', value);
  vi.stubEnv('MULTI_DATABASE_API_CREDETIALS_URL', standIn.service.credentialsUrl);
  vi.stubEnv('OAUTH_TOKEN_URL', standIn.service.tokenUrl);
  const { queue, app } = await bench
    .start({ handlers: [Notes], ...oneTry })
    .finally(() => vi.unstubAllEnvs());
  const id = await queue.insertTask({ topic: 'note', tenant: 1, payload: 'x' });
  expect(await bench.ended(id)).toMatchObject({
    status: 'falha',
    mensagem: expect.stringMatching(/set tenantDatabases .* or MULTI_DATABASE=TRUE/),
  });
  expect(standIn.requests).toEqual([]);
  const tenants = app.get(TenantDatabases, { strict: false });
  expect(tenants.stats()).toEqual([]);
  await expect(tenants.createDedupTable('1')).rejects.toMatchObject({ code: 'OPTIONS_INVALID' });
});

test('MULTI_DATABASE=TRUE and its variables are all that the service needs', async () => {
  const standIn = await startStandIn(tenantOf('1'));
  const { user, password, clientId, credentialsUrl, tokenUrl } = standIn.service;
  const variables = {
    MULTI_DATABASE: 'True',
    MULTI_DATABASE_USER: user,
    MULTI_DATABASE_PASSWORD: password,
    MULTI_DATABASE_CLIENT_ID: clientId,
    MULTI_DATABASE_API_CREDETIALS_URL: credentialsUrl,
    OAUTH_TOKEN_URL: tokenUrl,
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const { queue } = await bench.start({ handlers: [Notes] }).finally(() => vi.unstubAllEnvs());
  const id = await queue.insertTask({ topic: 'note', tenant: 1, payload: 'by variables' });
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
  expect(await tenantOf('1').notes()).toEqual(['by variables']);
});

test('a resolver that snoozes lets the task wait, without a failure', async () => {
  let asked = 0;
  const { queue } = await bench.start({
    handlers: [Notes],
    tenantDatabases: {
      resolve: () => {
        asked += 1;
        if (asked === 1) throw new Snooze(1, 'it moves');
        return { ...tenantOf('1').config };
      },
    },
    ...oneTry,
  });
  const id = await queue.insertTask({ topic: 'note', tenant: 1, payload: 'snoozed' });
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso', tentativa: 1, mensagem: 'noted for 1' });
  expect(asked).toBe(2);
});
