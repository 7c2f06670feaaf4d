import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { QueueClient, Subscriber, type TaskContext } from '../../lib/index.js';
import { column } from '../../lib/storage/columns.js';
import { runCli } from '../cli/support.js';
import { useDatabase } from '../support/database.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { createQueue, startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { act, ask } from '../dashboard/kit/ask.js';
import { startDashboardApp } from '../dashboard/kit/dashboard-app.js';
import { startReceiver } from '../webhooks/kit/receivers.js';
import { documentAt, sqlUnder } from './documents.js';

@Injectable()
class Handlers {
  @Subscriber('stock', { maxAttempts: 1 })
  async reserve(_payload: unknown, { db }: TaskContext): Promise<void> {
    await db.query('select 1');
    throw new Error('so that a dead task is inserted as well');
  }
}

const suffix = randomBytes(4).toString('hex');
const roles = ['producer', 'worker', 'monitor', 'operator'].map((name) => `shop_${name}_${suffix}`);
const [producer = '', worker = '', monitor = '', operator = ''] = roles;
const [grants = '', forEquivalents = '', forWebhooks = '', forUnique = '', forSecrets = ''] = sqlUnder(
  'docs/guides/deployment.md',
  'Roles',
);
const queue = 'shop_queue';
const order = { topic: 'order-placed', externalKey: 'k', payload: '{}' };
const database = await useDatabase();

/** The roles of the guide; roles belong to the whole server, so they get names of their own. */
await createQueue(database, { queue, webhooks: true });
await grant(grants);
for (const role of roles) await database.pool.query(`alter role ${role} login password 'p'`);
await database.pool.query(
  "insert into shop_queue_subscriber (id, processo) values ('stock', 'order-placed')",
);

afterAll(() => database.pool.query(`drop owned by ${roles.join(', ')}; drop role ${roles.join(', ')}`));

async function grant(sql: string): Promise<void> {
  await database.pool.query(sql.replaceAll(/\bshop_(?:producer|worker|monitor|operator)\b/g, `$&_${suffix}`));
}

function as(role: string): string {
  const url = new URL(database.url);
  url.username = role;
  url.password = 'p';
  return url.href;
}

function start(role: string, options: QueueAppOptions): Promise<QueueApp> {
  return startApp({ url: as(role) }, { queue, schema: 'check', ...options });
}

async function withRole(role: string, work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: as(role) });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** Every way to insert, without and with a transaction of the caller's. */
async function insertEverything(client: QueueClient, tx: Client): Promise<void> {
  await tx.query('begin');
  for (const options of [{}, { tx }]) {
    const full = {
      ...order,
      origin: 'a',
      destination: 'b',
      tenant: 7,
      group: 'g',
      priority: 60,
      metadata: { by: 'me' },
    };
    const ids = [
      await client.insertTask({ ...full, topic: 'nobody', delayMs: 3_600_000 }, options),
      await client.insertTaskWebhook({ topic: 'nobody', runAt: new Date(Date.now() + 3_600_000) }, options),
      await client.insertTaskPubSub({ ...full, topic: 'unheard' }, options),
      ...(await client.insertTasks(
        [
          { topic: 'nobody', delayMs: 3_600_000 },
          { ...full, topic: 'nobody', delayMs: 3_600_000 },
        ],
        options,
      )),
    ];
    expect(ids).toEqual(ids.map(() => expect.stringMatching(/^\d+$/) as string));
  }
  await tx.query('rollback');
}

test.each(['check', 'create'] as const)(
  "a Nest producer starts as the producer role, with schema '%s', and inserts in every way",
  async (schema) => {
    const app = await start(producer, { worker: false, schema });
    expect(app.worker.enabled).toBe(false);
    await withRole(producer, (tx) => insertEverything(app.queue, tx));
    await app.close();
  },
);

test('the producer role publishes on the command line, which says that it may not look who gets it', async () => {
  const env = { DATABASE_URL: as(producer), QUEUE_TABLE: queue };
  expect(await runCli(['publish', '--topic', 'nobody'], { env })).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^\d+\n$/),
    stderr: expect.stringMatching(/^published, but its subscriptions could not be read: permission denied/),
  });
});

test('the producer role inserts in every way, and does nothing else', async () => {
  await withRole(producer, async (client) => {
    const handle = new QueueClient(client, { table: queue });
    await insertEverything(handle, client);
    await client.query(`insert into shop_queue (processo, payload, data_hora, chave_unica, chave_fila, lote)
      values ('nobody', '{}', now() + interval '1 hour', 'v:one', 'o:one', 1) returning id`);
    const refused = [
      ...[
        'subscriber_id',
        'publication_id',
        'live_id',
        'id_inicial',
        'executor',
        'rodada',
        'limite',
        'consumidor',
        'cancelada_por',
      ].map((name) => `insert into shop_queue (${name}) values ('1')`),
      "insert into shop_queue (status) values ('sucesso')",
      'insert into shop_queue (dead) values (true)',
      'select payload from shop_queue',
      'select mensagem from shop_queue',
      "update shop_queue set processo = 'x'",
      'delete from shop_queue',
      ...['seal', 'webhook', 'subscriber', 'worker', 'paused', 'history', 'tasks'].map(
        (name) => `select from shop_queue_${name}`,
      ),
      'select from tarefa_migration',
    ];
    for (const sql of refused) await expect(client.query(sql)).rejects.toThrow('permission denied');
    await expect(handle.listEquivalentTask(order)).rejects.toThrow('permission denied');
  });
});

test('the roles of a producer that looks for equal tasks and of a worker are enough for both', async () => {
  await grant(forEquivalents);
  const listed = /grant select \(([^)]*)\)/.exec(forEquivalents)?.[1]?.split(/,\s*/) ?? [];
  expect(listed.toSorted()).toEqual(
    [...Object.values(column), 'payload_hash', 'metadados'].filter(isFirst).toSorted(),
  );
  const app = await start(worker, { handlers: [Handlers] });
  await withRole(producer, async (client) => {
    const handle = new QueueClient(client, { table: queue });
    await handle.insertTaskPubSub(order);
    // While it is being delivered it is equivalent to none.
    await until(
      async () => (await handle.listEquivalentTask(order)).length === 1,
      'the publication is found',
    );
  });
  await until(async () => {
    const { rows } = await database.pool.query(
      "select 1 from shop_queue_tasks where is_dead and status = 'succeeded'",
    );
    return rows.length === 1;
  }, 'the dead task ran');
  for (const routine of [app.retry, app.notify, app.purge]) expect(await routine.run()).toBe(0);
  await app.close();
  const { rows } = await database.pool.query('select stopped_at from shop_queue_worker');
  expect(rows).toEqual([{ stopped_at: expect.any(Date) as Date }]);
});

test('a producer of unique tasks needs its rights, and no more, to insert and to replace them', async () => {
  const live = {
    ...order,
    topic: 'nobody',
    delayMs: 3_600_000,
    unique: { key: 'u', onConflict: 'return' },
  } as const;
  const waiting = { ...live, unique: { key: 'r', while: 'pending', onConflict: 'replace' } } as const;
  await withRole(producer, async (client) => {
    const handle = new QueueClient(client, { table: queue });
    const [toInsert = '', toReplace = ''] = forUnique.split(/(?<=;)\s+/);
    await grant(toInsert);
    const id = await handle.insertTask(live);
    expect(await handle.insertTask(live)).toBe(id);
    expect(await handle.insertTasks([live, { ...live, unique: undefined }])).toContain(id);
    await expect(handle.insertTask({ ...live, unique: 'u' })).rejects.toMatchObject({
      code: 'TASK_DUPLICATE',
      id,
    });
    await expect(handle.insertTask(waiting)).rejects.toThrow('permission denied');
    await grant(toReplace);
    const replaced = await handle.insertTask(waiting);
    expect(await handle.insertTask({ ...waiting, payload: 'new' })).toBe(replaced);
  });
});

test('the worker role with the rights for webhooks delivers them, and deactivates what is gone', async () => {
  await grant(forWebhooks);
  const receiver = await startReceiver((_, response) => response.writeHead(410).end());
  await database.pool.query(
    "insert into shop_queue_subscriber (id, processo, url, http_method) values ('crm', 'sold', $1, 'POST')",
    [receiver.url],
  );
  const app = await start(worker, { webhooks: { allowedAddresses: ['127.0.0.1'] } });
  await app.queue.insertTaskWebhook({ topic: 'sold', payload: 'tea' });
  await until(async () => {
    const { rows } = await database.pool.query(
      "select from shop_queue_subscriber where id = 'crm' and not ativo",
    );
    return rows.length === 1;
  }, 'the subscription is deactivated');
  expect(receiver.requests[0]?.body.toString()).toBe('tea');
  const { rows } = await database.pool.query("select payload from shop_queue where subscriber_id = 'crm'");
  expect(rows[0]).toMatchObject({ payload: expect.stringMatching(/"seal" : "[0-9a-f]{64}"\}$/) });
  await app.close();
});

test('a worker that may not read the key says so; one that delivers webhooks does not start', async () => {
  await database.pool.query(`revoke select on shop_queue_seal from ${worker}`);
  const seal = `grant select on "public"."shop_queue_seal" to "${worker}"`;
  await expect(start(worker, { webhooks: true })).rejects.toMatchObject({
    code: 'RIGHTS_MISSING',
    message: expect.stringContaining(`\n\n${seal};\n\nhost `) as unknown,
  });
  const warned: unknown[] = [];
  const warn = (message: unknown): void => void warned.push(message);
  const ignore = (): void => undefined;
  const app = await start(worker, {
    handlers: [Handlers],
    logger: { log: ignore, error: ignore, warn },
  });
  expect(warned.map(String).join('\n')).toContain(
    `may not read the key that deliveries are sealed with (\`${seal}\`): webhooks that this worker delivers go to the URL that their subscription has when they are sent`,
  );
  const publication = await app.queue.insertTaskPubSub(order);
  await until(async () => {
    const { rows } = await database.pool.query('select from shop_queue where publication_id = $1', [
      publication,
    ]);
    return rows.length > 0;
  }, 'it is delivered');
  await app.close();
  await grant(
    grants
      .split('\n')
      .filter((line) => line.includes('shop_queue_seal'))
      .join('\n'),
  );
});

test('a worker that may not read which version the tables have says what to grant', async () => {
  await database.pool.query(`revoke select on tarefa_migration from ${worker}`);
  await expect(start(worker, {})).rejects.toMatchObject({
    code: 'RIGHTS_MISSING',
    message: expect.stringContaining(
      `\n\ngrant select on "public"."tarefa_migration" to "${worker}";\n\nhost `,
    ) as unknown,
  });
  await database.pool.query(`grant select on tarefa_migration to ${worker}`);
});

test('the monitor role sees what the monitoring guide, `tarefa status` and `tarefa check` ask, and no payload or secret', async () => {
  await withRole(monitor, async (client) => {
    const { blocks } = documentAt('docs/guides/monitoring.md');
    const statements = blocks.filter(({ language }) => language === 'sql');
    expect(statements.length).toBeGreaterThan(8);
    for (const { text } of statements) await client.query(text);
    for (const name of ['subscriber', 'webhook', 'seal']) {
      await expect(client.query(`select from shop_queue_${name}`)).rejects.toThrow('permission denied');
    }
    await expect(client.query('select payload from shop_queue')).rejects.toThrow('permission denied');
    await expect(client.query("insert into shop_queue (processo) values ('x')")).rejects.toThrow(
      'permission denied',
    );
  });
  const env = { DATABASE_URL: as(monitor), QUEUE_TABLE: queue };
  const { code, stdout, stderr } = await runCli(['status', '--json'], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({ unknown: [] });
  expect(await runCli(['check'], { env })).toMatchObject({ stderr: '', stdout: expect.any(String) });
});

test('the operator role can do all that the dashboard and the command line offer, and is told what another role lacks', async () => {
  const { pool } = database;
  const env = { DATABASE_URL: as(operator), QUEUE_TABLE: queue };
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCli(args, { env });
    expect([
      args,
      code,
      stderr.replaceAll(/^(The payload is hidden|It is shown only once).*\n/gm, '').trim(),
    ]).toEqual([args, 0, '']);
    return stdout;
  };
  const file = join(await makeTemporaryFolder(), 'tasks');
  await writeFile(file, '{"topic":"nobody"}\n');
  await run('insert', '--file', file);
  await run('publish', '--topic', 'order-placed');
  await run('check');
  const later = '--delay 1h'.split(' ');
  for (const action of ['cancel', 'bury', 'run-now', 'delete']) {
    const [id = ''] = /\d+/.exec(await run('insert', '--topic', 'nobody', ...later)) ?? [];
    await run(action, id, ...(action === 'delete' ? ['--yes'] : []));
    if (action === 'cancel') await run('retry', id);
  }
  await run('retry', '--all', '--status', 'cancelled', '--yes');
  await run(
    'task',
    (await pool.query<{ id: string }>('select min(id)::text as id from shop_queue')).rows[0]?.id ?? '',
    '--payload',
  );
  await run('tasks');
  await run('pause', '--topic', 'nobody');
  await run('resume', '--topic', 'nobody');
  await run('schedules', 'add', 'nightly', '--cron', '0 3 * * *', '--topic', 'nobody');
  for (const action of ['pause', 'resume', 'run']) await run('schedules', action, 'nightly');
  await run('schedules', 'change', 'nightly', '--missed', 'skip');
  await run('subscriptions', 'add', 'mail', 'sold');
  for (const action of ['disable', 'enable']) await run('subscriptions', action, 'mail');
  await grant(forSecrets);
  const receiver = await startReceiver((_, response) => response.end());
  await run('subscriptions', 'add', 'partner', 'sold', '--webhook', receiver.url);
  await run('subscriptions', 'secret', 'partner');
  await run('purge');
  await run('halt');
  expect(JSON.parse(await run('status', '--json'))).toMatchObject({ unknown: [] });
  const app = await startDashboardApp(as(operator), {
    queue,
    schema: 'check',
    worker: false,
    webhooks: { allowedAddresses: ['127.0.0.1'] },
    dashboard: { actions: true },
  });
  for (const path of ['overview', 'counts', 'tasks', 'schedules', 'subscriptions', 'history']) {
    expect([path, (await ask(`${app.url}/api/${path}`)).status]).toEqual([path, 200]);
  }
  expect((await act(app.url, 'pause', { topic: 'a', paused: true })).status).toBe(200);
  expect((await act(app.url, 'run-schedule', { id: 'nightly' })).status).toBe(200);
  for (const action of ['create-secret', 'ping']) {
    expect([action, (await act(app.url, action, { id: 'partner' })).status]).toEqual([action, 200]);
  }
  expect(receiver.requests).toHaveLength(1);
  await app.close();
  for (const id of ['mail', 'partner']) await run('subscriptions', 'remove', id);
  await run('schedules', 'remove', 'nightly');
  // A worker's page may not.
  const page = await startDashboardApp(as(worker), { queue, schema: 'check', dashboard: { actions: true } });
  const refused = await act(page.url, 'pause', { topic: 'a', paused: false });
  expect(refused).toMatchObject({ status: 409, body: { code: 'RIGHTS_MISSING' } });
  expect(refused.body['message']).toContain(
    `\n\ngrant insert, delete on "public"."shop_queue_paused" to "${worker}";\n`,
  );
  await page.close();
  const asMonitor = await runCli(['pause', '--topic', 'a'], { env: { ...env, DATABASE_URL: as(monitor) } });
  expect(asMonitor.stderr).toContain(
    `\n\ngrant insert, delete on "public"."shop_queue_paused" to "${monitor}";\n`,
  );
});

test('the first start lists every grant that is lacking, that for declared subscriptions too', async () => {
  @Injectable()
  class Declaring {
    @Subscriber('declared', { topic: 'order-placed' })
    take(): void {}
  }
  const { pool } = database;
  const role = `bare_${suffix}`;
  await pool.query(`create role ${role} login password 'p'`);
  roles.push(role);
  const starting = start(role, { handlers: [Declaring] });
  const problem: unknown = await starting.catch((error: unknown) => error);
  expect(problem).toMatchObject({ code: 'RIGHTS_MISSING' });
  const [, list = ''] = (problem as Error).message.split('\n\n');
  expect(list).toContain(`grant select, insert on "public"."shop_queue_subscriber" to "${role}";`);
  await pool.query(list);
  const app = await start(role, { handlers: [Declaring] });
  await app.close();
});

function isFirst(name: string, index: number, all: readonly string[]): boolean {
  return all.indexOf(name) === index;
}
