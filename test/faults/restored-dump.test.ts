import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  DeadTaskHandler,
  QueueAdmin,
  Recurring,
  Subscriber,
  TaskHandler,
  type QueueModuleOptions,
} from '../../lib/index.js';
import { hasCode } from '../../lib/errors.js';
import { runCli } from '../cli/support.js';
import { startDebianPostgres, type DebianServer } from '../package/debian-postgres.js';
import { createDatabase } from '../support/database.js';
import { LogLines } from '../support/log-lines.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { deferred, until } from '../support/waiting.js';
import { startReceiver } from '../webhooks/kit/receivers.js';
import { debianFile } from './kit/debian-tool.js';

const run = promisify(execFile);
const packages = ['postgresql-client-15', 'libpq5', 'libreadline8'];
let server: DebianServer;

beforeAll(async () => {
  const started = await startDebianPostgres();
  // `pg_dump` reads no newer server.
  if (!started) throw new Error('this test needs postgresql-15 of Debian: install it and run it again');
  server = started;
});
afterAll(() => server.stop());

async function call(program: string, args: readonly string[]): Promise<void> {
  const { path, env } = await debianFile(`usr/lib/postgresql/15/bin/${program}`, packages);
  await run(path, args, { env: { ...process.env, ...env } });
}

interface Place {
  readonly url: string;
  drop(): Promise<void>;
}

async function onDebian(name: string): Promise<Place> {
  await onServer(`create database ${name}`);
  const address = new URL(server.url);
  address.pathname = `/${name}`;
  return {
    url: address.href,
    drop: () => onServer(`drop database ${name} with (force)`),
  };
}

async function onServer(sql: string): Promise<void> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** An hour: it does not come by itself. */
const never = 3_600_000;

/** A running application of one of the two databases; what its handlers have done. */
interface Side extends QueueApp {
  readonly admin: QueueAdmin;
  readonly done: string[];
  readonly log: LogLines;
}

/** What fails here fails the first time only where `fails` says so; what is held runs until the end of the test. */
async function open(
  { url }: Place,
  { fails, held, ...options }: QueueModuleOptions & { fails: boolean; held: Promise<void> | undefined },
): Promise<Side> {
  const done: string[] = [];
  const log = new LogLines();
  class Handlers {
    @TaskHandler('slow')
    @Subscriber('slow mail', { topic: 'sold' })
    async slow(payload: unknown): Promise<void> {
      done.push(`slow ${JSON.stringify(payload)}`);
      await held;
    }
    @TaskHandler('quick')
    @TaskHandler('paused')
    @Subscriber('stock', { topic: 'sold' })
    quick(payload: unknown): void {
      done.push(`quick ${JSON.stringify(payload)}`);
    }
    @TaskHandler('again', { maxAttempts: 2, retryDelayMs: never })
    again(): void {
      if (fails) throw new Error('not yet');
      done.push('again');
    }
    @TaskHandler('bad', { maxAttempts: 1 })
    bad(): void {
      throw new Error('never');
    }
    @DeadTaskHandler('bad', { maxAttempts: 2, retryDelayMs: never })
    dead(): void {
      if (fails) throw new Error('not yet');
      done.push('dead');
    }
    @TaskHandler('tick')
    @Recurring('ticker', { every: 1_000, missed: 'skip' })
    tick(): void {
      done.push('tick');
    }
  }
  const started = await startApp(
    { url },
    {
      handlers: [Handlers],
      webhooks: { allowedAddresses: ['127.0.0.1'] },
      recovery: { intervalMs: 100, confirmMs: 100, graceMs: 0 },
      shutdownTimeoutMs: 1_000,
      logger: log,
      ...options,
    },
  );
  return { ...started, admin: started.app.get(QueueAdmin), done, log };
}

const ways = [
  {
    to: 'another database of the server',
    layout: 'plain',
    target: () => onDebian(`copy_${process.pid}`),
    restore: async (file: string, url: string) => call('pg_restore', ['--exit-on-error', '-d', url, file]),
    format: '-Fc',
  },
  {
    to: 'a newer server',
    layout: { partitionIds: 20 },
    target: () => createDatabase(),
    restore: async (file: string, url: string) =>
      call('psql', ['--no-psqlrc', '--quiet', '--set=ON_ERROR_STOP=1', `--file=${file}`, url]),
    format: '-Fp',
  },
] as const;

test.each(ways)(
  'a queue that pg_dump wrote while its worker ran goes on in $to: nothing is missing, nothing is asked for, what ran is recovered',
  async ({ layout, target, restore, format }) => {
    const ended = deferred();
    const source = await onDebian(`source_${process.pid}`);
    const copy = await target();
    const folder = await mkdtemp(join(tmpdir(), 'tarefa-dump-'));
    const receiver = await startReceiver();
    const sides: Side[] = [];
    try {
      // Pauses come first: a worker that has not heard of one would begin.
      const before = await startApp(source, { layout, worker: false, webhooks: true });
      await before.app.get(QueueAdmin).pause({ topic: 'paused' });
      await before.app.get(QueueAdmin).pause({ subscriptionId: 'crm' });
      await before.close();
      const old = await open(source, { layout, fails: true, held: ended.promise });
      sides.push(old);
      await old.admin.subscriptions.add({ id: 'crm', topic: 'sold', url: receiver.url });
      // A queue in partitions has no index to keep keys apart.
      const keyed = layout === 'plain' ? { unique: { key: 'invoice 7' } } : {};
      const ids = {
        slow: await old.queue.insertTask({ topic: 'slow', payload: { n: 1 } }),
        again: await old.queue.insertTask({ topic: 'again' }),
        bad: await old.queue.insertTask({ topic: 'bad' }),
        paused: await old.queue.insertTask({ topic: 'paused', payload: 'Zoë 🐢', ...keyed }),
        later: await old.queue.insertTask({ topic: 'quick', payload: 'later', delayMs: never }),
        sold: await old.queue.insertTaskPubSub({ topic: 'sold', payload: { order: 7 } }),
      };
      const statuses = async ({ admin }: Side): Promise<readonly string[]> =>
        (await admin.list({ status: ['pending', 'scheduled', 'retrying', 'processing'] })).tasks
          .filter(({ topic }) => topic !== 'tick')
          .map(({ topic, subscriptionId, dead, attempt, status }) =>
            [subscriptionId ?? topic, dead && 'dead', attempt, status].filter(Boolean).join(' '),
          )
          .sort();
      const unfinished = [
        'again 2 scheduled',
        'bad dead 2 scheduled',
        'crm 1 pending',
        'paused 1 pending',
        'quick 1 scheduled',
        'slow 1 processing',
        'slow mail 1 processing',
      ];
      await expect.poll(() => statuses(old)).toEqual(unfinished);
      await until(async () => old.done.includes('tick'), 'the schedule has run');
      const file = join(folder, 'dump');
      await call('pg_dump', [format, '--no-owner', `--file=${file}`, source.url]);
      await old.queue.insertTask({ topic: 'quick', payload: 'after the dump' });
      await until(async () => old.done.includes('quick "after the dump"'), 'the old worker goes on');

      await restore(file, copy.url);
      const check = await runCli(['migrate', '--check', '--table', 'tasks', '--webhooks', '--url', copy.url]);
      expect(check).toMatchObject({ code: 0, stderr: '' });
      const reader = await startApp(copy, { schema: 'check', worker: false, webhooks: true });
      expect(await statuses({ admin: reader.app.get(QueueAdmin) } as Side)).toEqual(unfinished);
      expect(await reader.app.get(QueueAdmin).check()).toEqual([]);
      await reader.close();

      const restored = await open(copy, { schema: 'check', fails: false, held: undefined, autoStart: false });
      sides.push(restored);
      expect([...restored.log.of('warn'), ...restored.log.of('error')]).toEqual([]);
      const recovered: (readonly [string | null, string])[] = [];
      restored.events.on('task.recovered', ({ task, workerId }) => {
        // It may have run in that very moment.
        if (task.topic !== 'tick') recovered.push([task.topic, workerId]);
      });
      await restored.worker.start();
      const { admin, queue } = restored;
      const duplicate = await queue
        .insertTask({ topic: 'paused', payload: 'twice', ...keyed })
        .catch((error: unknown) => error);
      // Partitioned tables have no unique keys: there it is one task more.
      expect(hasCode(duplicate, 'TASK_DUPLICATE')).toBe(layout === 'plain');
      // The old worker's number is not given again.
      expect(restored.worker.id).not.toBe(old.worker.id);
      const { deadIds } = await admin.find(ids.bad);
      for (const id of [ids.again, ids.later, deadIds.at(-1) ?? '']) await admin.runNow(id);
      await admin.resume({ topic: 'paused' });
      await admin.resume({ subscriptionId: 'crm' });
      const added = await queue.insertTask({ topic: 'quick', payload: 'new' });
      expect(Number(added)).toBeGreaterThan(Number(ids.sold));
      await until(async () => (await statuses(restored)).length === 0, 'all has ended');
      await until(async () => restored.done.includes('tick'), 'the schedule goes on');
      expect(new Map(recovered)).toEqual(
        new Map([
          ['slow', old.worker.id],
          ['sold', old.worker.id],
        ]),
      );
      expect(restored.done.filter((what) => what !== 'tick').sort()).toEqual([
        'again',
        'dead',
        'quick "Zoë 🐢"',
        'quick "later"',
        'quick "new"',
        ...(layout === 'plain' ? [] : ['quick "twice"']),
        'slow {"n":1}',
        'slow {"order":7}',
      ]);
      expect(receiver.requests.map(({ body }) => body.toString())).toEqual(['{"order":7}']);
      expect(await admin.check()).toEqual([]);
    } finally {
      ended.resolve();
      await Promise.all(sides.map((side) => side.close()));
      await Promise.all([source.drop(), copy.drop(), rm(folder, { recursive: true })]);
    }
  },
  45_000,
);
