import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { useDatabase } from '../support/database.js';
import { subscribe } from '../support/subscriptions.js';
import { until } from '../support/waiting.js';
import { createEffectTable, forkWorker } from '../support/worker-process.js';
import { startReceiver } from '../webhooks/kit/receivers.js';
import { childFile } from './children/isolated-bench.js';

const database = await useDatabase();
await createEffectTable(database);

/** The built library without comments; the embedded server is only for development, and of bootstrap. */
async function readRuntimeCode(): Promise<readonly { readonly file: string; readonly code: string }[]> {
  const folder = join(inject('buildDir'), 'lib');
  const files = (await readdir(folder, { recursive: true })).filter(
    (file) => file.endsWith('.js') && !file.startsWith('embedded'),
  );
  return Promise.all(
    files.map(async (file) => ({
      file,
      code: (await readFile(join(folder, file), 'utf8')).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, ''),
    })),
  );
}

test('the library calls nothing that blocks the event loop', async () => {
  const found = (await readRuntimeCode()).flatMap(({ file, code }) =>
    [...code.matchAll(/\b(\w+Sync|randomBytes|randomInt|Atomics\.wait)\s*\(/g)].map(
      ([, call]) => `${file}: ${call}`,
    ),
  );
  // While it starts, the library looks for its own files, which a bundler may have left out.
  expect(found).toEqual(['values/own-file.js: existsSync']);
  expect((await readRuntimeCode()).length).toBeGreaterThan(30);
});

test('Node sees no synchronous input or output once the application is up', async () => {
  const receiver = await startReceiver();
  const worker = forkWorker(
    database,
    {
      recovery: { intervalMs: 50, confirmMs: 50, graceMs: 0 },
      pollIntervalMs: 50,
      retryIntervalMinutes: 0,
      maxAttempts: 2,
      unknownTasks: 'fail',
      webhooks: { allowedAddresses: ['127.0.0.1'] },
      isolation: { module: childFile('isolated-module').href, threads: 1 },
    },
    { NODE_OPTIONS: '--trace-sync-io', ISOLATED_URL: database.url },
  );
  await worker.message('ready');
  // What it has loaded until now, and its thread has, is traced too.
  worker.send('mark');
  await until(async () => worker.stderr.includes('mark\n'), 'the start is over');
  await subscribe(database, [{ id: 'nobody' }, { id: 'crm', url: receiver.url, http_method: 'POST' }]);
  // A task of each kind: done, unknown and failing, delivered, in a thread, scheduled, with a payload that is loaded apart.
  await database.pool.query(
    `insert into tasks (processo, pub_sub, payload, data_hora) values
       ('effect', false, '{}', now()), ('unknown', false, '{}', now()), ('order-placed', true, '{}', now()),
       ('write', false, '{}', now()), ('effect', false, '{}', now() + interval '100 milliseconds'),
       ('effect', false, '{"text":"' || repeat('x', 200000) || '"}', now())`,
  );
  await until(async () => {
    const { rows } = await database.pool.query(
      `select from tasks where status in ('pendente', 'agendada', 'processando')`,
    );
    return rows.length === 0;
  }, 'everything has ended');
  const { rows } = await database.pool.query('select from effect');
  expect(rows).toHaveLength(4);
  expect(receiver.requests).toHaveLength(1);
  worker.send('close');
  await worker.exit;
  const [, after = ''] = worker.stderr.split('mark\n');
  const traces = after.split('WARNING: ').slice(1);
  // The driver draws eighteen random bytes when a connection that is opened later authenticates.
  expect(traces.filter((trace) => !trace.includes('/pg/lib/crypto/sasl.js'))).toEqual([]);
});

test('the trace that the test above relies on shows a synchronous call', async () => {
  const worker = forkWorker(database, {}, { NODE_OPTIONS: '--trace-sync-io' });
  await worker.message('ready');
  worker.send('read a file');
  worker.send('close');
  await worker.exit;
  expect(worker.stderr).toMatch(/Detected use of sync API/);
});
