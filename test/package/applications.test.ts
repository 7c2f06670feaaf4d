import { execFile } from 'node:child_process';
import { copyFile, cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { sign } from '../../lib/webhooks/signature.js';
import { generateSecret } from '../../lib/webhooks/signing-secret.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { forkFile, type Child } from '../support/processes.js';
import { until } from '../support/waiting.js';
import { installPackages } from './installation.js';
import { npm } from './npm.js';
import { compile, packLibrary, type Manifest, type PackedLibrary } from './packed.js';

// Over a minute: two applications are compiled and run against the package as npm lays it out, on Nest 11 in CommonJS and on Nest 12
// in modules. What is wrong with exports, peers or declarations shows nowhere else, and breaks every user's start.

const execute = promisify(execFile);

const kinds = [
  { title: 'Nest 11 and CommonJS', packages: 'nest-11', type: 'commonjs', skipLibCheck: false },
  // The declarations are checked against those of Nest 12 in package.test.ts.
  { title: 'Nest 12 and ES modules', packages: 'nest-12', type: 'module', skipLibCheck: true },
] as const;
type Kind = (typeof kinds)[number];

/** What `nest new` writes, and strict. */
const compilerOptions = {
  module: 'nodenext',
  moduleResolution: 'nodenext',
  resolvePackageJsonExports: true,
  esModuleInterop: true,
  isolatedModules: true,
  declaration: true,
  removeComments: true,
  emitDecoratorMetadata: true,
  experimentalDecorators: true,
  allowSyntheticDefaultImports: true,
  target: 'ES2023',
  sourceMap: true,
  rootDir: '.',
  outDir: './dist',
  types: ['node'],
  strict: true,
};

const secret = generateSecret();
let library: PackedLibrary;

beforeAll(async () => {
  library = await packLibrary();
}, 180_000);

describe.each(kinds)('an application of somebody else, on $title', (kind) => {
  let folder: string;

  beforeAll(async () => {
    folder = await makeApplication(kind);
    await compile(folder);
  }, 300_000);

  test('npm finds no dependency or peer of the library missing or of a version that does not fit', async () => {
    expect(await npm(['ls', '--all'], folder)).toContain(`nestjs-tarefa@${library.manifest.version}`);
  });

  test.each(['express', 'fastify'])(
    'does its work on %s, and what it has begun before it ends',
    async (platform) => {
      const database = await createDatabase();
      try {
        const child = forkFile(join(folder, 'dist/main.js'), `shop on ${platform}`, {
          args: [platform],
          env: { DATABASE_URL: database.url, HOOK_SECRET: secret },
          cwd: folder,
        });
        const address = await addressOf(child);
        await useShop(address, database);
        await sendWebhooks(address);
        await stopAtWork(child, database);
        expect(child.stderr.split('\n').filter((line) => !line.includes('ran out of attempts'))).toEqual([
          '',
        ]);
      } finally {
        await database.drop();
      }
    },
    60_000,
  );
});

/** With packages of its own, laid out as npm does, and the sources of `application`. Returns its folder. */
async function makeApplication({ packages, type, skipLibCheck }: Kind): Promise<string> {
  const folder = await makeTemporaryFolder();
  const installed = await installPackages(packages);
  // Ten thousand files, which `cp` of Node takes four times as long for.
  await execute('cp', ['-r', join(installed, 'node_modules'), folder]);
  await cp(library.folder, join(folder, 'node_modules/nestjs-tarefa'), { recursive: true });
  const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Manifest;
  const settings = { compilerOptions: { ...compilerOptions, skipLibCheck } };
  const manifest = {
    private: true,
    type,
    dependencies: { ...dependencies, 'nestjs-tarefa': library.manifest.version },
  };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  const sources = join(import.meta.dirname, 'application');
  for (const name of await readdir(sources)) {
    await copyFile(join(sources, name), join(folder, name.replace(/\.txt$/, '')));
  }
  // Marked lines that compile are errors: what the types refuse they refuse here too.
  await copyFile(join(import.meta.dirname, '../types/listed.ts.txt'), join(folder, 'listed.ts'));
  return folder;
}

async function addressOf(child: Child): Promise<string> {
  const printed = until(
    async () => /^http:\S+/.exec(child.stdout)?.[0],
    'the application prints its address',
  );
  const ended = child.exit.then(({ code }) => {
    throw new Error(`it ended with ${code ?? 'a signal'} instead:\n${child.stdout}${child.stderr}`);
  });
  return Promise.race([printed, ended]);
}

async function useShop(address: string, { pool }: TestDatabase): Promise<void> {
  const ask = async (path: string, body?: unknown): Promise<{ status: number; answer: unknown }> => {
    const method = body === undefined ? 'GET' : 'POST';
    const headers = { 'content-type': 'application/json' };
    const text = body === undefined ? null : JSON.stringify(body);
    const response = await fetch(`${address}${path}`, { method, headers, body: text });
    return { status: response.status, answer: await response.json() };
  };

  const healthy = { status: 'up', worker: 'running' };
  expect(await ask('/health')).toMatchObject({
    status: 200,
    answer: { status: 'ok', info: { shop: healthy, mail: healthy } },
  });

  expect(await ask('/orders', { customer: 'nobody' })).toMatchObject({ status: 400 });
  const { answer } = await ask('/orders', { customer: 'Zoë 🦄' });
  const { receiptId, publicationId } = answer as Record<string, string>;
  // The order of nobody took the first id.
  expect(await ask(`/orders/receipts/${receiptId}`)).toEqual({
    status: 200,
    answer: { status: 'succeeded', message: 'receipt of order 2 sent to Zoë 🦄' },
  });

  const deliveries = await until(async () => {
    const { rows } = await pool.query<{ status: string }>(
      `select subscription_id as id, is_dead as dead, status, attempts::int, message from shop_queue_tasks
       where publication_id = $1 or live_task_id is not null order by 1, 2`,
      [publicationId],
    );
    return rows.length === 3 && rows.every(({ status }) => /^(succeeded|failed)$/.test(status)) && rows;
  }, 'both deliveries and the dead one have ended');
  expect(deliveries).toEqual([
    { id: 'search-index', dead: false, status: 'succeeded', attempts: 1, message: 'indexed' },
    { id: 'stock', dead: false, status: 'failed', attempts: 1, message: 'nothing left (no attempts left)' },
    { id: 'stock', dead: true, status: 'succeeded', attempts: 1, message: 'completed' },
  ]);
  const { rows } = await pool.query(
    `select state, words, (select count(*)::int from mail_queue_tasks) as receipts,
       (select count(*)::int from shop_queue_tasks where topic = 'order-placed' and publication_id is null) as publications
     from shop_order left join shop_search_entry on order_id = shop_order.id`,
  );
  expect(rows).toEqual([{ state: 'out of stock', words: 'Zoë 🦄', receipts: 1, publications: 1 }]);

  expect(await ask('/orders/closing', {})).toMatchObject({ status: 201 });
}

/** One that is signed, one that is not, and one that was changed on its way. */
async function sendWebhooks(address: string): Promise<void> {
  const send = async (body: string, headers: Record<string, string>): Promise<number> => {
    const json = { 'content-type': 'application/json', ...headers };
    const response = await fetch(`${address}/hooks/parcels`, { method: 'POST', headers: json, body });
    return response.status;
  };
  const [id, timestamp, body] = ['msg_1', Math.floor(Date.now() / 1_000), '{ "id":1,"to":"Zoë 🦄" }'];
  const signed = {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': sign([secret], { id, timestamp, body }),
  };
  expect([
    await send(body, signed),
    await send(body, {}),
    await send(body.replace('1', '2'), signed),
  ]).toEqual([201, 401, 401]);
}

/** Tells it to stop while a handler runs, which waits for that. */
async function stopAtWork(child: Child, { pool }: TestDatabase): Promise<void> {
  await until(
    async () => (await pool.query("select from shop_order where state = 'closing'")).rowCount,
    'the handler is at work',
  );
  expect(await child.kill('SIGTERM')).toEqual({ code: null, signal: 'SIGTERM' });
  const { rows } = await pool.query(
    `select (select count(*)::int from shop_order where state = 'closed') as closed,
       (select status from shop_queue_tasks where topic = 'close-shop'),
       (select count(*)::int from shop_queue_worker where stopped_at is not null) as stopped`,
  );
  expect(rows).toEqual([{ closed: 1, status: 'succeeded', stopped: 1 }]);
}
