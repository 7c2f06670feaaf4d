import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { QueueLogs, TaskHandler } from '../../../lib/index.js';
import { useDatabase } from '../../support/database.js';
import { LogLines } from '../../support/log-lines.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../../support/queue-app.js';
import { forkChild } from '../../support/processes.js';
import { nextEvent, until } from '../../support/waiting.js';
import { StandInLoki } from './stand-in-loki.js';

const database = await useDatabase();
let loki: StandInLoki;
let tables = 0;

beforeEach(async () => {
  loki = await StandInLoki.start();
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await loki.stop();
});

class Handlers {
  @TaskHandler('greet')
  greet(): string {
    return 'hello';
  }

  @TaskHandler('fail', { maxAttempts: 1 })
  fail(): never {
    throw new Error('out of "paper"\n and ink');
  }
}

interface LokiApp extends QueueApp {
  readonly table: string;
  readonly logger: LogLines;
  readonly logs: QueueLogs;
}

async function start(options: QueueAppOptions = {}): Promise<LokiApp> {
  const logger = new LogLines();
  const table = `loki_${++tables}`;
  const app = await startApp(database, { queue: table, handlers: [Handlers], logger, ...options });
  return { ...app, table, logger, logs: app.app.get(QueueLogs) };
}

/** Inserts tasks and waits until all of them have succeeded. */
async function runTasks({ queue, events }: QueueApp, count: number): Promise<void> {
  let completed = 0;
  const all = nextEvent(events, 'task.completed', () => (completed += 1) === count);
  await queue.insertTasks(
    Array.from({ length: count }, () => ({ topic: 'greet', payload: { secret: 'p4yl04d' } })),
  );
  await all;
}

test('with GRAFANA_URL the lines of the log reach Loki, under the label of ENV', async () => {
  vi.stubEnv('GRAFANA_URL', loki.url);
  vi.stubEnv('ENV', 'prod');
  const app = await start({ loki: { intervalMs: 10 } });
  const buried = nextEvent(app.events, 'task.buried');
  const id = await app.queue.insertTask({ topic: 'fail', payload: { secret: 'p4yl04d' } });
  await buried;
  const line = await until(
    async () => loki.lines.find(({ fields }) => fields['event'] === 'task.failed'),
    'the failure is in Loki',
  );
  await app.close();

  expect(line.labels).toEqual({
    PROD_flask_api_skeleton: 'prod_log',
    app: 'nestjs-tarefa',
    queue: app.table,
    level: 'warn',
    component: 'tasks',
  });
  expect(line.fields).toEqual({
    msg: `task ${id} (fail) attempt 1 failed: out of "paper"\\n and ink`,
    event: 'task.failed',
    queue: app.table,
    component: 'tasks',
    workerId: expect.stringMatching(/^\d+$/) as string,
    taskId: id,
    attemptId: id,
    attempt: '1',
    topic: 'fail',
    error: 'out of "paper"\\n and ink',
  });
  // The same lines as everywhere else: from the first to the last, each once.
  expect(loki.texts.toSorted()).toEqual(app.logger.of().toSorted());
  expect(loki.texts.filter((text) => / stopped$/.test(text))).toHaveLength(1);
  expect(loki.lines.filter(({ text }) => text.includes('p4yl04d'))).toEqual([]);
  expect(app.logs.stats().loki).toMatchObject({ sent: loki.lines.length, dropped: 0, waiting: 0 });
});

test('without ENV the label is that of DEV', async () => {
  vi.stubEnv('GRAFANA_URL', loki.url);
  vi.stubEnv('ENV', undefined);
  const app = await start();
  await app.close();
  expect(new Set(loki.lines.map(({ labels }) => labels['DEV_flask_api_skeleton']))).toEqual(
    new Set(['dev_log']),
  );
});

test.each([
  ['blank', '  ', undefined],
  ['overruled', undefined, false],
] as const)('nothing is pushed where GRAFANA_URL is %s', async (_, variable, option) => {
  vi.stubEnv('GRAFANA_URL', variable ?? loki.url);
  const app = await start({ loki: option });
  await runTasks(app, 1);
  await app.close();
  expect(loki.requests).toBe(0);
  expect(app.logs.stats()).toEqual({ loki: undefined });
});

test('with logDebug what becomes of every task reaches Loki; ids are in the line, never in a label', async () => {
  const app = await start({ logDebug: true, loki: { url: loki.url, intervalMs: 10, batchLines: 50 } });
  await runTasks(app, 200);
  await app.close();
  const of = (event: string) => loki.lines.filter(({ fields }) => fields['event'] === event);
  for (const event of ['task.claimed', 'task.completed']) {
    expect(new Set(of(event).map(({ fields }) => fields['taskId'])).size).toBe(200);
  }
  const streams = new Set(loki.lines.map(({ labels }) => JSON.stringify(labels)));
  expect(streams.size).toBeLessThan(6);
  expect(of('task.completed')[0]?.fields).toMatchObject({ result: 'hello', topic: 'greet', attempt: '1' });
  expect(Number(of('task.completed')[0]?.fields['durationMs'])).toBeGreaterThanOrEqual(0);
});

test('while Loki is down all tasks run, lines are dropped and counted, and it is said once', async () => {
  const { url } = loki;
  await loki.stop();
  const bounds = { bufferLines: 100, batchLines: 20, flushMs: 200 };
  const app = await start({ logDebug: true, loki: { url, intervalMs: 5, ...bounds } });
  await runTasks(app, 1_000);
  const stats = app.logs.stats().loki;
  expect(stats?.waiting).toBeLessThanOrEqual(120);
  expect(stats?.dropped).toBeGreaterThan(1_500);
  await app.close();
  expect(app.logs.stats().loki).toMatchObject({ sent: 0, waiting: 0, failure: 'ECONNREFUSED' });
  const { rows } = await database.pool.query(
    `select status, count(*)::int from ${app.table} group by status`,
  );
  expect(rows).toEqual([{ status: 'sucesso', count: 1_000 }]);
  const said = app.logger.of('warn').filter((line) => line.includes('Loki'));
  expect(said).toEqual([
    expect.stringMatching(
      /^Loki at http:\/\/127\.0\.0\.1:\d+\/loki\/api\/v1\/push is not accepting log lines \(ECONNREFUSED\)/,
    ),
    expect.stringMatching(/^\d{4} log lines did not reach Loki: ECONNREFUSED$/),
  ]);
});

test('a Loki that hangs delays neither tasks nor the end of the application', async () => {
  loki.answer = () => undefined;
  const app = await start({ logDebug: true, loki: { url: loki.url, intervalMs: 1, flushMs: 50 } });
  await runTasks(app, 100);
  await until(async () => loki.requests > 0, 'Loki was asked');
  await app.close();
  expect(app.logs.stats().loki).toMatchObject({ sent: 0, waiting: 0 });
});

test.each([
  ['lines that wait', { intervalMs: 3_600_000 }, 204],
  ['tries that come', { intervalMs: 1 }, 503],
])('%s keep no process alive', async (_, options, status) => {
  loki.refuse(status);
  const child = forkChild('boot', {
    env: {
      LEAVE_OPEN: 'yes',
      TOPIC: 'nobody',
      QUEUE_OPTIONS: JSON.stringify({
        connection: { connectionString: database.url, allowExitOnIdle: true },
        queue: `loki_${++tables}`,
        worker: false,
        loki: { url: loki.url, ...options },
      }),
    },
  });
  await child.message('open');
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(loki.requests > 0).toBe(status === 503);
});

test('what was said before a start that fails reaches Loki as well', async () => {
  const refused = { url: 'postgres://127.0.0.1:1/nowhere' };
  vi.stubEnv('CLIENT_SERVER_MODE', 'TRUE');
  await expect(
    startApp(refused, { connectRetryMs: 0, loki: { url: loki.url, intervalMs: 3_600_000 } }),
  ).rejects.toThrow('ECONNREFUSED');
  expect(loki.texts).toEqual([expect.stringMatching(/^CLIENT_SERVER_MODE is TRUE/)]);
});

test('the credentials of a URL stand in no line, whether Loki takes them or not', async () => {
  const url = loki.url.replace('http://', 'http://ana:s3cr3t@');
  loki.answer = ({ headers }, response) => void response.writeHead(401).end(headers.authorization);
  const app = await start({ loki: { url: `${url}?key=qu3ry`, intervalMs: 1 } });
  await until(async () => app.logger.of('warn').length > 0, 'it is said');
  loki.accept();
  await app.close();
  const everything = JSON.stringify([app.logger.of(), loki.lines.map(({ text }) => text), app.logs.stats()]);
  for (const secret of ['s3cr3t', 'qu3ry', btoa('ana:s3cr3t')]) expect(everything).not.toContain(secret);
  // What Loki does not take is not told to Loki.
  expect(loki.lines.length).toBeGreaterThan(0);
  expect(loki.lines.filter(({ labels }) => labels['component'] === 'logs')).toEqual([]);
  expect(app.logger.of('warn')[0]).toContain(
    '(401: Basic *** (are the credentials right?)): they are dropped',
  );
});

test('two queues push their own lines', async () => {
  const other = await start({ loki: { url: loki.url, labels: { app: 'other' } } });
  const app = await start({ loki: { url: loki.url } });
  await app.close();
  await other.close();
  const apps = new Set(loki.lines.map(({ labels }) => `${labels['app']} ${labels['queue']}`));
  expect(apps).toEqual(new Set([`nestjs-tarefa ${app.table}`, `other ${other.table}`]));
});
