import { randomBytes } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { QueueAdmin, QueueWebhooks } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { useApp } from '../support/queue-app.js';
import { deferred, until } from '../support/waiting.js';
import { startReceiver } from '../webhooks/kit/receivers.js';
import { runCli, spawnCli, type CliResult } from './support.js';
import { testOnPostgres } from '../support/run-database.js';

const secretKey = randomBytes(32).toString('base64');
const database = await useDatabase();
const webhooks = { allowedAddresses: ['127.0.0.1'], secretKeys: secretKey };
const producer = await useApp(database, { worker: false, webhooks });
const env = { DATABASE_URL: database.url, QUEUE_TABLE: 'tasks', WEBHOOK_SECRET_KEYS: ` ${secretKey},` };

afterEach(() => database.pool.query('truncate tasks, tasks_subscriber, tasks_webhook'));

const workerArgs = ['worker', '--webhooks', '--allow', '127.0.0.1'];

async function subscribe(url: string): Promise<void> {
  const { subscriptions } = producer.app.get(QueueAdmin);
  await subscriptions.add({ id: 'partner', topic: 'order-placed', url, httpMethod: 'POST' });
}

async function deliveries(): Promise<string[]> {
  const { rows } = await database.pool.query<{ status: string }>(
    `select status from tasks_tasks where subscription_id = 'partner' order by task_id`,
  );
  return rows.map(({ status }) => status);
}

/** A worker of this process, once it has started. */
async function startWorker(args: readonly string[] = workerArgs): Promise<{
  readonly stop: () => void;
  readonly ended: Promise<CliResult>;
}> {
  const controller = new AbortController();
  const started = deferred();
  const onOutput = (text: string): void => {
    if (/started; it serves .*webhooks/.test(text)) started.resolve();
  };
  const ended = runCli(args, { env, signal: controller.signal, onOutput });
  await Promise.race([
    started.promise,
    ended.then((result) => Promise.reject(new Error(`ended: ${JSON.stringify(result)}`))),
  ]);
  return { stop: () => controller.abort(), ended };
}

test('delivers what a URL is subscribed to, signed, and leaves tasks of code alone', async () => {
  const receiver = await startReceiver();
  await subscribe(receiver.url);
  await producer.app.get(QueueWebhooks).createSecret('partner');
  const { stop, ended } = await startWorker();
  await producer.queue.insertTask({ topic: 'of-code' });
  await producer.queue.insertTaskPubSub({ topic: 'order-placed', payload: { n: 1 } });
  await until(async () => (await deliveries())[0] === 'succeeded', 'the delivery');
  stop();
  const { code, stdout, stderr } = await ended;
  expect([code, stderr]).toEqual([0, '']);
  expect(receiver.requests.map(({ body }) => body.toString())).toEqual(['{"n":1}']);
  expect(receiver.requests[0]?.headers['webhook-signature']).toMatch(/^v1,/);
  const { rows } = await database.pool.query(
    "select status, tentativa from tasks where processo = 'of-code'",
  );
  expect(rows).toEqual([{ status: 'pendente', tentativa: 1 }]);
  expect(stdout).toMatch(/^\d{4}-\S+Z LOG {3}Tarefa:tasks.*: worker \d+ started/m);
  expect(stdout).toMatch(/worker \d+ stopped\n/);
  expect(stdout).not.toMatch(/dependencies initialized|Nest application/);
});

test('told to stop, it lets a request end first', async () => {
  const arrived = deferred();
  const answer = deferred();
  const receiver = await startReceiver((_request, response) => {
    arrived.resolve();
    void answer.promise.then(() => response.end('thank you'));
  });
  await subscribe(receiver.url);
  const { stop, ended } = await startWorker();
  await producer.queue.insertTaskPubSub({ topic: 'order-placed' });
  await arrived.promise;
  stop();
  let isOver = false;
  void ended.then(() => (isOver = true));
  // It has stopped to take more before that request has ended.
  await until(async () => {
    const { rowCount } = await database.pool.query('select from tasks_worker where stopped_at is not null');
    return rowCount;
  }, 'the worker beside it has stopped');
  expect(isOver).toBe(false);
  answer.resolve();
  expect((await ended).code).toBe(0);
  expect(await deliveries()).toEqual(['succeeded']);
});

test('when nobody reads its log any more, as after `| head`, it lets requests end before it stops', async () => {
  const arrived = deferred();
  const answer = deferred();
  const receiver = await startReceiver((request, response) => {
    if (request.path === '/broken') {
      response.writeHead(500).end();
      return;
    }
    arrived.resolve();
    void answer.promise.then(() => response.end('thank you'));
  });
  await subscribe(receiver.url);
  const child = spawnCli(workerArgs, env);
  await producer.queue.insertTaskPubSub({ topic: 'order-placed' });
  await arrived.promise;
  child.process.stdout?.destroy();
  const { subscriptions } = producer.app.get(QueueAdmin);
  await subscriptions.add({
    id: 'broken',
    topic: 'said',
    url: `${new URL(receiver.url).origin}/broken`,
    httpMethod: 'POST',
  });
  await producer.queue.insertTaskPubSub({ topic: 'said' });
  await until(async () => {
    const { rowCount } = await database.pool.query(
      'select from tasks_worker where pid = $1 and stopped_at is not null',
      [child.pid],
    );
    return rowCount;
  }, 'the worker beside it has stopped');
  answer.resolve();
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(await deliveries()).toEqual(['succeeded']);
});

test('`tarefa halt` ends it', async () => {
  const { ended } = await startWorker();
  await producer.app.get(QueueAdmin).halt();
  expect((await ended).code).toBe(0);
});

test('as a process it ends with 0 at SIGTERM, and its lines are JSON with --json', async () => {
  const receiver = await startReceiver();
  await subscribe(receiver.url);
  const child = spawnCli([...workerArgs, '--json', '--concurrency', '3'], env);
  await producer.queue.insertTaskPubSub({ topic: 'order-placed' });
  await until(async () => (await deliveries())[0] === 'succeeded', 'the delivery');
  // Some supervisors send it again.
  child.process.kill('SIGTERM');
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(child.stderr).toBe('');
  const lines = child.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines).toContainEqual(
    expect.objectContaining({
      time: expect.stringMatching(/^\d{4}-/) as string,
      level: 'log',
      context: expect.stringMatching(/^Tarefa:tasks/) as string,
      message: expect.stringMatching(/^worker \d+ stopped$/) as string,
    }),
  );
  const { rows } = await database.pool.query(
    'select concurrency from tasks_worker where pid = $1 and stopped_at is not null order by concurrency',
    [child.pid],
  );
  expect(rows).toEqual([{ concurrency: 3 }, { concurrency: 10 }]);
});

testOnPostgres.each<[readonly string[], Record<string, string>, number, RegExp]>([
  [
    ['worker'],
    {},
    1,
    /no work given: pass --webhooks to deliver webhooks; tasks with code run in your application/,
  ],
  [['worker', '--webhooks', 'now'], {}, 1, /unexpected argument "now"/],
  [['worker', '--webhooks', '--concurrency', '0'], {}, 1, /--concurrency must be a whole number from 1/],
  [
    ['worker', '--webhooks', '--redirects', 'maybe'],
    {},
    1,
    /--redirects must be refuse or follow, not "maybe"/,
  ],
  [
    ['worker', '--webhooks', '--allow', 'not a host'],
    {},
    1,
    /"not a host" is not a CIDR range, an address or a host name/,
  ],
  [['worker', '--webhooks'], { WEBHOOK_SECRET_KEYS: 'too-short' }, 1, /a key must be 32 bytes in base64/],
  [
    ['worker', '--webhooks', '--table', 'nothing'],
    {},
    2,
    /the table \w+\.nothing does not exist: check the name/,
  ],
  [
    ['worker', '--webhooks', '--url', 'postgres://nobody:hidden@127.0.0.1:1/none', '--connect-retry', '0'],
    {},
    2,
    /no server is listening at 127\.0\.0\.1:1 \(connect ECONNREFUSED/,
  ],
])('%j is refused with what to do', async (args, variables, exit, problem) => {
  const { code, stdout, stderr } = await runCli(args, { env: { ...env, ...variables } });
  expect([code, stdout]).toEqual([exit, '']);
  expect(stderr).toMatch(problem);
  expect(stderr).not.toMatch(/hidden|too-short|at .*\.ts:/);
});
