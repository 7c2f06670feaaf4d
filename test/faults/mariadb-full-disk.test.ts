import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { LogLines } from '../support/log-lines.js';
import { mysqlStartMs } from '../support/mysql.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { deferred, until } from '../support/waiting.js';
import { startMysqlCluster, type MysqlCluster } from './kit/mysql-cluster.js';
import { prepareSmallDisk, type SmallDisk } from './kit/small-disk.js';

/** The number of InnoDB's refusal: the table is full. */
const tableFull = 1114;
/** More than the pages have room for that a table has. */
const large = { text: 'x'.repeat(300_000) };

let disk: SmallDisk;
let server: MysqlCluster;
let pool: Pool;
let app: QueueApp;
let started = 0;
const log = new LogLines();
const gate = deferred();

// Attempts that the full disk fails are no reason to give up.
const rules = { retryDelayMs: 50, maxAttempts: 10_000 };

class Handlers {
  @TaskHandler('effect', rules)
  async effect(_: unknown, { db, task }: TaskContext): Promise<object> {
    started += 1;
    await gate.promise;
    await db.query('insert into effect (task, attempt) values (?, ?)', [task.firstAttemptId, task.attempt]);
    return large;
  }

  @TaskHandler('batch', rules)
  async batch(): Promise<object> {
    started += 1;
    await gate.promise;
    return large;
  }
}

beforeAll(async () => {
  disk = await mountSmallDisk();
  server = await startMysqlCluster('mariadb', [], {}, disk);
  const url = `${server.url}/shop`;
  pool = createPool({ uri: url, multipleStatements: true });
  await pool.query('create table effect (task bigint not null, attempt int not null)');
  app = await startApp({ url }, { handlers: [Handlers], logger: log, pollIntervalMs: 200 });
}, mysqlStartMs);

afterAll(async () => {
  await app.close();
  await pool.end();
  await server.stop();
  await disk.remove();
});

async function mountSmallDisk(): Promise<SmallDisk> {
  let reason = '';
  const made = await prepareSmallDisk(64, (why) => (reason = why));
  if (!made) throw new Error(`this machine does not let us mount a small disk: ${reason}`);
  return made;
}

/** A file on the disk that only the server sees. */
const filler = (): string => join(`/proc/${server.pid}/root`, disk.folder, 'filler');

/** Leaves no room on the disk, nor in the queue's table. */
async function fill(): Promise<void> {
  const file = await open(filler(), 'w');
  try {
    for (const bytes of [1_048_576, 4_096]) await repeatUntilFull(() => file.write(Buffer.alloc(bytes)));
  } finally {
    await file.close();
  }
  for (const characters of [1_500, 100, 1]) {
    await repeatUntilFull(() =>
      pool.query(
        `insert into tasks (processo, payload, status) values ('filler', repeat('x', ${characters}), 'sucesso')`,
      ),
    );
  }
}

/** Writes until there is no room for it. */
async function repeatUntilFull(write: () => Promise<unknown>): Promise<void> {
  for (;;) {
    const refusal = await write().then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (refusal === undefined) continue;
    expect(refusal).toMatch(/ENOSPC|is full/);
    return;
  }
}

/** What became of the tasks, once none is left to do. */
function drained(): Promise<RowDataPacket> {
  return until(
    async () => {
      const [[row]] = await pool.query<RowDataPacket[]>(`
        select count(if(status = 'sucesso', 1, null)) as succeeded,
          count(if(status in ('pendente', 'agendada', 'processando'), 1, null)) as unfinished,
          count(if(dead, 1, null)) as dead,
          (select count(*) from effect) as effects, (select count(distinct task) from effect) as tasks
        from tasks where processo <> 'filler'`);
      return row?.['unfinished'] === 0 && row;
    },
    'all tasks are done',
    60_000,
  );
}

test('a full disk: who inserts is told, workers wait, and all goes on when there is room again', async () => {
  await pool.query(
    `insert into tasks (processo, payload) select if(seq % 2, 'batch', 'effect'), '{}' from seq_1_to_20`,
  );
  await until(async () => started === 10, 'as many run as may');
  await fill();
  gate.resolve();
  const insert = app.queue.insertTask({ topic: 'batch', payload: large });
  await expect(insert).rejects.toMatchObject({ errno: tableFull });
  await until(
    async () => log.of('error').some((line) => /hit a database error.*is full/.test(line)),
    'the worker says so',
  );

  await rm(filler());
  expect(await drained()).toEqual({ succeeded: 20, unfinished: 0, dead: 0, effects: 10, tasks: 10 });
  await app.queue.insertTask({ topic: 'batch', payload: large });
  expect(await drained()).toMatchObject({ succeeded: 21, effects: 10, tasks: 10 });
  await until(async () => log.of('log').some((line) => line.includes(' recovered')), 'the worker says so');
}, 120_000);
