import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findProcessesOf } from '../../lib/embedded/process-table.js';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { leaveEffect } from '../support/leave-effect.js';
import { LogLines } from '../support/log-lines.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { deferred, until } from '../support/waiting.js';
import { createEffectTable } from '../support/worker-process.js';
import { startCluster, type Cluster, type ClusterDatabase } from './kit/cluster.js';
import { allOnce, drained } from './kit/outcome.js';
import { perSecond } from './kit/rate.js';
import { prepareSmallDisk, type SmallDisk } from './kit/small-disk.js';

const run = promisify(execFile);
const diskFull = '53100';

let disk: SmallDisk | undefined;
let cluster: Cluster;
let database: ClusterDatabase;
let app: QueueApp;
let started = 0;
const log = new LogLines();
const gate = deferred();

class Handlers {
  @TaskHandler('effect', { retryDelayMs: 50 })
  async effect(_: unknown, ctx: TaskContext): Promise<void> {
    started += 1;
    await gate.promise;
    await leaveEffect(ctx);
  }

  @TaskHandler('batch', { retryDelayMs: 50 })
  async batch(): Promise<void> {
    started += 1;
    await gate.promise;
  }
}

beforeAll(async () => {
  disk = await prepareSmallDisk(48, (reason) => {
    process.stdout.write(
      `full-disk: a limit on the size of files stands in for the disk, as none can be mounted: ${reason}\n`,
    );
  });
  // Vacuuming would find room of its own.
  const settings = { autovacuum: 'off' };
  cluster = await startCluster(disk ? { settings, launcher: disk.launcher } : { settings });
  database = await cluster.createDatabase();
  if (disk) {
    await cluster.run(`create tablespace small location '${disk.folder}'`);
    const name = new URL(database.url).pathname.slice(1);
    await cluster.run(`alter database ${name} set default_tablespace = small`);
  }
  await createEffectTable(database);
  await database.pool.query('create table filler (bytes bytea)');
  await database.pool.query('alter table filler alter bytes set storage external');
  app = await startApp(database, {
    handlers: [Handlers],
    logger: log,
    pollIntervalMs: 200,
    retryIntervalMinutes: 0,
  });
});

afterAll(async () => {
  await app.close();
  await cluster.stop();
  await disk?.remove();
});

/** Runs a statement until there is no room for what it writes. */
async function repeatUntilFull(sql: string): Promise<void> {
  for (;;) {
    const refused = await database.pool.query(sql).then(
      () => false,
      (error: Error) => {
        expect(error.message).toMatch(/No space left|File too large/);
        return true;
      },
    );
    if (refused) return;
  }
}

/** Leaves no room for another page, and fills those of the queue's table. */
async function fill(): Promise<void> {
  if (disk) {
    for (const bytes of [1_000_000, 30_000, 7_000]) {
      await repeatUntilFull(
        `insert into filler select decode(repeat('00', ${bytes}), 'hex') from generate_series(1, 1)`,
      );
    }
  } else {
    // No limit below the size of the files of the write-ahead log: the table has to be larger.
    await database.pool.query(
      `insert into tasks (processo, payload, status)
       select 'filler', repeat('x', 1500), 'sucesso' from generate_series(1, 12000)`,
    );
    const { rows } = await database.pool.query<{ path: string }>(
      `select pg_relation_filepath('tasks') as path`,
    );
    await limitFiles(String((await stat(join(cluster.dataDirectory, rows[0]?.path ?? ''))).size));
  }
  for (const characters of [1_500, 100, 1]) {
    await repeatUntilFull(
      `insert into tasks (processo, payload, status) values ('filler', repeat('x', ${characters}), 'sucesso')`,
    );
  }
}

async function free(): Promise<void> {
  if (disk) await database.pool.query('drop table filler');
  else await limitFiles('unlimited');
}

/** For all processes of the server, and those that it will start. */
async function limitFiles(most: string): Promise<void> {
  // As the server's user: not even root may limit another user's processes everywhere.
  const { uid, gid } = await stat(cluster.dataDirectory);
  for (const pid of findProcessesOf(cluster.dataDirectory)) {
    await run('prlimit', [`--pid=${pid}`, `--fsize=${most}:unlimited`], { uid, gid, cwd: '/' });
  }
}

const refusals = async (): Promise<number> =>
  (await cluster.log()).split(/ERROR: .*(?:No space left|File too large)/).length - 1;

test('a full disk: who inserts is told, workers wait, and all goes on when there is room again', async () => {
  await database.pool.query(
    `insert into tasks (processo, payload)
     select case when n % 2 = 0 then 'effect' else 'batch' end, '{}' from generate_series(1, 20) n`,
  );
  await until(async () => started === 10, 'as many run as may');
  await fill();
  gate.resolve();
  const insert = app.queue.insertTask({ topic: 'batch', payload: { text: 'x'.repeat(200_000) } });
  await expect(insert).rejects.toThrow(/No space left|File too large/);
  // Where a limit on files stands in for the disk PostgreSQL has no name for it.
  const code = await insert.catch((error: { code?: unknown }) => error.code);
  expect(code).toBe(disk ? diskFull : 'XX000');
  await until(
    async () => log.of('error').some((line) => line.includes('hit a database error')),
    'the worker says so',
  );
  expect(await perSecond(refusals)).toBeLessThan(10);
  // Said once, and again only when it could go on for a moment.
  const said = (words: string): number => log.of().filter((line) => line.includes(words)).length;
  expect(said('hit a database error')).toBeLessThanOrEqual(said(' recovered') + 1);

  await free();
  await database.pool.query(`delete from tasks where processo = 'filler'`);
  expect(await drained(database.pool)).toEqual(allOnce(10, 10));
  await app.queue.insertTask({ topic: 'batch', payload: { text: 'x'.repeat(200_000) } });
  expect(await drained(database.pool)).toEqual(allOnce(10, 11));
  await until(async () => log.of('log').some((line) => line.includes(' recovered')), 'the worker says so');
}, 90_000);
