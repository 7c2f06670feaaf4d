import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../support/database.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { forkFile, type Child } from '../support/processes.js';
import { clientOf } from './shop.js';

const root = resolve(import.meta.dirname, '../..');
// Below node_modules, so that the compiled shop finds the packages it imports.
const outDir = join(root, `node_modules/.cache/tarefa-shop-${process.pid}`);

beforeAll(async () => {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const project = join(root, 'sample-app/tsconfig.json');
  await promisify(execFile)(process.execPath, [tsc, '-p', project, '--outDir', outDir, '--noCheck']);
  await promisify(execFile)(process.execPath, [join(root, 'scripts/build-page.mjs'), join(outDir, 'lib')]);
  await writeFile(join(outDir, 'package.json'), '{ "type": "module" }\n');
});
afterAll(() => rm(outDir, { recursive: true, force: true }));

function startShop(env: Readonly<Record<string, string | undefined>>): Child {
  return forkFile(join(outDir, 'sample-app/main.js'), 'shop', { env: { PORT: '0', ...env } });
}

/** Where a shop says it is. */
async function addressOf(shop: Child): Promise<string> {
  const find = (): string | undefined =>
    /^The shop is open: (http:\/\/127\.0\.0\.1:\d+)$/m.exec(shop.stdout)?.[1];
  await expect.poll(find, { timeout: 20_000, message: shop.stderr }).toBeDefined();
  return find() ?? '';
}

function runDemo(...args: string[]): Child {
  return forkFile(join(root, 'scripts/demo.mjs'), 'demo', { args });
}

test('the demo plays through a shop in a process of its own', async () => {
  const database = await createDatabase();
  const shop = startShop({ DATABASE_URL: database.url });
  const demo = runDemo(await addressOf(shop));
  const { code } = await demo.exit;
  expect(demo.stderr).toBe('');
  expect(demo.stdout).toMatch(
    /300 orders in .* 1184 deliveries succeeded, 100 of them after a retry, 16 given up .* All ended as they should\.\n$/,
  );
  expect(code).toBe(0);
  expect(await shop.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(shop.stderr).not.toContain('Error');
  await database.drop();
});

test('without a database to go to, the shop has its own, which keeps the orders', async () => {
  const env = { DATABASE_URL: undefined, TAREFA_DIR: await makeTemporaryFolder() };
  const first = startShop(env);
  const address = await addressOf(first);
  const { id } = await clientOf(address).place({
    customer: 'Ana',
    items: [{ sku: 'tea', quantity: 1 }],
  });
  expect(await first.kill('SIGINT')).toEqual({ code: 0, signal: null });

  // At the same address: that is where the partner's webhooks go.
  const second = startShop({ ...env, PORT: new URL(address).port });
  // The partner's webhook may have met the shop just as it closed: then it waits for its next attempt.
  const report = await clientOf(await addressOf(second)).orderWhen(
    id,
    ({ effects }) => effects.searchable && effects.receiptSent && effects.stockReserved,
  );
  expect(report).toMatchObject({ id, customer: 'Ana' });
  expect(await second.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});

test('the demo says so when no shop is there', async () => {
  const demo = runDemo('http://127.0.0.1:1');
  expect(await demo.exit).toEqual({ code: 1, signal: null });
  expect(demo.stderr).toMatch(/^No shop answers at http:\/\/127\.0\.0\.1:1 .*\nStart it with `npm start`/);
});

test('a port that cannot be used is an error, not a hang', async () => {
  const database = await createDatabase();
  const first = startShop({ DATABASE_URL: database.url });
  const { port } = new URL(await addressOf(first));
  const second = startShop({ DATABASE_URL: database.url, PORT: port });
  expect(await second.exit).toEqual({ code: 1, signal: null });
  expect(second.stderr).toContain('EADDRINUSE');
  const third = startShop({ DATABASE_URL: database.url, PORT: 'eighty' });
  expect(await third.exit).toEqual({ code: 1, signal: null });
  expect(third.stderr).toContain('PORT must be a number from 0 to 65535, got "eighty"');
  await first.kill();
  await database.drop();
});
