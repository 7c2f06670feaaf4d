import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeTemporaryFolder } from '../support/folders.js';
import { leftOutOn } from '../support/postgres-left-out.js';
import { runNode } from './run-node.js';

test.each([
  ['--postgres', '12', /^--postgres knows 13, 14, 15, 16, 17, 18, not "12"\n$/],
  ['--node', '18', /^--node knows 20, 22, 24, not "18"\n$/],
  ['--suites', 'storag', /^--suites knows storage, worker, .*, not "storag"\n$/],
])('%s %s is refused before anything is fetched', async (option, value, message) => {
  const { code, errors } = await runNode('scripts/test-versions.mjs', [option, value]);
  expect(errors).toMatch(message);
  expect(code).toBe(2);
});

test('a version that cannot be fetched is found out before the runner starts, and its suites are named', async () => {
  const home = await makeTemporaryFolder();
  const closing = join(home, 'closing');
  const args = ['--postgres', '15,16', '--suites', 'storage,faults', '--closing', closing];
  // Nobody listens there.
  const { code, output } = await runNode('scripts/test-versions.mjs', args, {
    ...registryAt('http://127.0.0.1:9/', home),
  });
  expect(code).toBe(1);
  expect(output).not.toContain('RUN');
  const lines = output.trim().split('\n');
  expect(lines).toHaveLength(2);
  for (const [index, version] of ['15', '16'].entries()) {
    expect(lines[index]).toMatch(
      new RegExp(
        `^FAILED PostgreSQL ${version}: storage not run; faults not run \\(npm could not fetch @embed`,
      ),
    );
  }
  expect(await readFile(closing, 'utf8')).toBe(`${lines.join('\n')}\n`);
});

test('what the registry sends is refused when it is not what was pinned', async () => {
  const registry = createServer((_, response) => response.end('another archive'));
  registry.listen(0, '127.0.0.1');
  await once(registry, 'listening');
  const { port } = registry.address() as AddressInfo;
  const home = await makeTemporaryFolder();
  try {
    const args = ['--postgres', '15', '--suites', 'storage'];
    const env = registryAt(`http://127.0.0.1:${port}/`, home);
    const { code, output } = await runNode('scripts/test-versions.mjs', args, env);
    expect(output).toContain('EINTEGRITY');
    expect(code).toBe(1);
  } finally {
    registry.closeAllConnections();
    registry.close();
  }
});

test.each([
  ['13.22.0-beta.15', false],
  ['16.10.0', false],
  ['17.6.0-beta.15', true],
  ['18.4.0', true],
])('on PostgreSQL %s what it cannot be brought to is run: %s', async (version, runs) => {
  const folder = await makeTemporaryFolder();
  await writeFile(join(folder, 'package.json'), JSON.stringify({ version }));
  const left = leftOutOn(folder);
  expect(left).toContain('test/storage/mysql/**');
  // Its name is the one that stands there.
  const file = 'test/faults/full-notify-queue.test.ts';
  expect(existsSync(join(import.meta.dirname, '../..', file))).toBe(true);
  expect(left.includes(file)).toBe(!runs);
});

test('nothing is left out on the PostgreSQL of package.json', () => {
  expect(leftOutOn('')).toEqual([]);
});

/** Variables under which npm knows that registry only, and has nothing from another. */
function registryAt(url: string, home: string): Readonly<Record<string, string>> {
  return {
    XDG_CACHE_HOME: join(home, 'cache'),
    npm_config_registry: url,
    npm_config_cache: join(home, 'npm'),
    npm_config_fetch_retries: '0',
  };
}
