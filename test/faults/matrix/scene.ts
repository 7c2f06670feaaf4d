import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Pool } from 'pg';
import { DeadSubscriber, DeadTaskHandler, Subscriber, TaskHandler } from '../../../lib/index.js';
import { startDashboardApp } from '../../dashboard/kit/dashboard-app.js';
import { createDatabase, type TestDatabase } from '../../support/database.js';
import { startApp } from '../../support/queue-app.js';
import { until } from '../../support/waiting.js';
import {
  allAtOnce,
  columnsOf,
  hostileOthers,
  hostileTasks,
  lostWorker,
  write,
  writeHostile,
  type HostileRow,
} from './hostile-rows.js';
import type { Encoding } from './hostile-values.js';
import { readQueue, readTask, type Complaint } from './readers.js';

/** What did not go on, beside which rows. */
export interface Finding extends Complaint {
  readonly row?: Pick<HostileRow, 'table' | 'column' | 'value' | 'variant'>;
}

/** A queue in a database of that encoding. */
export interface Scene {
  readonly tasks: readonly HostileRow[];
  readonly others: readonly HostileRow[];
  /**
   * Writes those rows beside normal tasks, lets everybody read and work, and answers what did not go on.
   *
   * @param options.readsTasks whether tasks are also read one by one. Default true
   */
  play(rows: readonly HostileRow[], options?: { readonly readsTasks?: boolean }): Promise<readonly Finding[]>;
  close(): Promise<void>;
}

const normalTasks = 20;
/** A machine that others use takes its time over some thousand tasks. */
const workMs = 60_000;
const webhooks = { allowedAddresses: ['127.0.0.1'] };

/** What is to be said: a task of an unknown route, that failed for good, or whose texts cannot be sent. */
const expected =
  /manual intervention is needed|no handler|nobody handles|^task \d+ cannot be read, so it was not run/;

class Handlers {
  @TaskHandler('normal')
  normal(): string {
    return 'done';
  }
  @TaskHandler('hostile')
  hostile(): string {
    return 'done';
  }
  @TaskHandler('failing')
  failing(): void {
    throw new Error('as always');
  }
  @Subscriber('code')
  code(): string {
    return 'done';
  }
  @DeadTaskHandler('hostile')
  @DeadTaskHandler('failing')
  @DeadSubscriber('code')
  @DeadSubscriber('hook')
  dead(): string {
    return 'done';
  }
}

/** Makes one. */
export async function makeScene(encoding: Encoding): Promise<Scene> {
  const database = await createDatabase(encoding);
  const { pool, url } = database;
  const dashboard = await startDashboardApp(url, { webhooks });
  await pool.query(writeHostile);
  const hook = await startHook();
  const columns = await columnsOf(pool, 'tasks');
  const others = await otherRows(pool, encoding);
  return {
    tasks: [...hostileTasks(columns, encoding), ...allAtOnce(columns, encoding)],
    others,
    play: async (rows, { readsTasks = true } = {}) => {
      const findings: Finding[] = [];
      await prepare(pool, hook.url);
      const { written, refused } = await write(pool, rows);
      findings.push(...refused.map(([row, said]) => ({ reader: 'insert', said, row })));
      const reading = { dashboard, databaseUrl: url };
      findings.push(...(await readQueue(reading)));
      if (readsTasks) {
        for (const row of written.filter(isRead)) {
          findings.push(...(await readTask(reading, row)).map((one) => ({ ...one, row })));
        }
      }
      findings.push(...(await work(database)));
      findings.push(
        ...(await readQueue(reading)).map(({ reader, said }) => ({ reader: `${reader} afterwards`, said })),
      );
      return findings;
    },
    close: async () => {
      await dashboard.close();
      hook.close();
      await database.drop();
    },
  };
}

/** Each value once: what reads tasks one by one does not look at their status. */
function isRead({ table, column, variant }: HostileRow): boolean {
  return (
    table === 'tasks' &&
    (variant === 'task sucesso updated' || (column === 'payload' && variant === 'webhook pendente updated'))
  );
}

async function prepare(pool: Pool, hook: string): Promise<void> {
  await pool.query(
    `truncate tasks, tasks_subscriber, tasks_worker, tasks_paused, tasks_history, tasks_webhook restart identity`,
  );
  await pool.query(`insert into tasks_worker (id, host, pid, version, concurrency, routes)
    overriding system value values (${lostWorker}, 'gone', 1, '0', 1, '{}')`);
  await pool.query(`insert into tasks_subscriber (id, processo, url, http_method) values
    ('code', 'news', null, null), ('hook', 'news', '${hook}', 'POST')`);
}

/** A worker serves the queue until the normal tasks have ended, and does all its routines. */
async function work({ pool, url }: TestDatabase): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const complain = (reader: string, error: unknown): void => {
    findings.push({ reader, said: describe(error) });
  };
  const app = await startApp(
    { url },
    {
      handlers: [Handlers],
      unknownTasks: 'fail',
      webhooks,
      maxAttempts: 3,
      recovery: { intervalMs: 200, confirmMs: 100, graceMs: 0 },
      autoStart: false,
    },
  ).catch((error: unknown) => {
    complain('start', error);
    return undefined;
  });
  if (!app) return findings;
  const { events } = app;
  events.on('worker.error', ({ error }) => complain('worker', error));
  events.on('routine.failed', ({ routine, error }) => complain(`routine ${routine}`, error));
  events.on('connection.lost', ({ error }) => complain('connection', error));
  events.on('warning', ({ message }) => {
    if (!expected.test(message)) complain('warning', message);
  });
  try {
    const ids = await app.queue.insertTasks(
      Array.from({ length: normalTasks }, (_, index) => ({ topic: 'normal', payload: { index } })),
    );
    await app.worker.start();
    await until(
      async () => (await countOf(pool, `id = any($1) and status = 'sucesso'`, [ids])) === normalTasks,
      'normal',
      workMs,
    ).catch(async () => complain('normal tasks', await standing(pool, `processo = 'normal'`)));
    for (const [name, routine] of [
      ['retry', app.retry],
      ['notify', app.notify],
      ['purge', app.purge],
    ] as const) {
      await routine.run().catch((error: unknown) => complain(`routine ${name}`, error));
    }
    const held = `status = 'processando' and executor = ${lostWorker}`;
    await until(async () => (await countOf(pool, held)) === 0, 'recovered', workMs / 4).catch(async () =>
      complain('recovery', await standing(pool, held)),
    );
    const due = `status = 'pendente' and data_hora <= now()`;
    await until(async () => (await countOf(pool, due)) === 0, 'drained', workMs).catch(async () =>
      complain('still pending', await standing(pool, due)),
    );
  } catch (error) {
    complain('inserts', error);
  } finally {
    await app.close().catch((error: unknown) => complain('close', error));
  }
  return findings;
}

async function countOf(pool: Pool, where: string, values: unknown[] = []): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select count(*)::int as n from tasks where ${where}`,
    values,
  );
  return rows[0]?.n ?? 0;
}

/** How the rows stand there, without the texts, which may not be readable. */
async function standing(pool: Pool, where: string): Promise<string> {
  const { rows } = await pool.query<{ line: string }>(
    `select count(*) || ' ' || status || ' such as ' || min(id) as line from tasks where ${where} group by status`,
  );
  return rows.map(({ line }) => line).join('; ');
}

async function otherRows(pool: Pool, encoding: Encoding): Promise<readonly HostileRow[]> {
  const bases: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    tasks_subscriber: { id: `'s' || nextval('hostile_number')`, processo: `'news'` },
    tasks_worker: { host: `'h'`, pid: '1', version: `'0'`, concurrency: '1', routes: `'{}'` },
    tasks_paused: { route: `'t:' || nextval('hostile_number')` },
    tasks_history: { at: 'clock_timestamp()', route: `'t:' || nextval('hostile_number')` },
    tasks_webhook: { subscriber_id: `'hook'` },
  };
  const rows: HostileRow[] = [];
  for (const [table, base] of Object.entries(bases)) {
    rows.push(...hostileOthers(table, await columnsOf(pool, table), encoding, base));
  }
  return rows;
}

function describe(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return `${typeof code === 'string' ? `${code} ` : ''}${String(error)}`;
}

/** An endpoint that takes everything. */
async function startHook(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((_request, response) => response.end('ok')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => server.close().closeAllConnections(),
  };
}
