import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runNode } from './run-node.js';

const root = join(import.meta.dirname, '../..');

/** Folders of the tests of what the library does, whatever the database is. */
const folders = [
  'admin',
  'cli',
  'client',
  'dashboard',
  'maintenance',
  'observability/history',
  'subscribers',
  'tenants',
  'terminus',
  'testing',
  'webhooks',
  'worker',
];

test('every test of what the library does runs on MariaDB and MySQL, or has a reason why not', async () => {
  const { files, postgres } = JSON.parse(
    await readFile(join(root, 'scripts/database-suites.json'), 'utf8'),
  ) as { files: readonly string[]; postgres: Readonly<Record<string, string>> };
  const found: string[] = [];
  for (const path of await listTests()) {
    // A type of the seam is no database.
    const speaks =
      /(?<!lib\/storage\/)database\.js|adopted-parts|queue-bench|recovery-bench|dashboard-bench|group-bench|detached-kills|useTenants|useMysqlTenant|startApp/;
    if (speaks.test(await readFile(join(root, path), 'utf8'))) found.push(path);
  }
  expect([...files, ...Object.keys(postgres)].toSorted()).toEqual(found.toSorted());
  expect(files.toSorted()).toEqual(files);
  expect(Object.values(postgres).filter((reason) => reason.length < 10)).toEqual([]);
});

test('a database that is none of the two is refused before anything is fetched', async () => {
  const { code, errors } = await runNode('scripts/test-databases.mjs', ['--database', 'oracle']);
  expect(errors).toBe('--database is mariadb or mysql, not "oracle"\n');
  expect(code).toBe(2);
});

async function listTests(): Promise<readonly string[]> {
  const lists = await Promise.all(
    folders.map(async (folder) => {
      const names = await readdir(join(root, 'test', folder), { recursive: true });
      return names.map((name) => `test/${folder}/${name}`);
    }),
  );
  return lists.flat().filter((path) => /(?<!\.browser|\.long)\.test\.ts$/.test(path));
}
