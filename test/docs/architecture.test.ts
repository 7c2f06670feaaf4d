import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { documentAt, pathOf } from './documents.js';
import { readInterface } from './interfaces.js';

const page = documentAt('docs/architecture.md');
const sources = readdirSync(pathOf('lib'), { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => name.endsWith('.ts'));
const declarations = new Map(sources.map((file) => [file, declaredIn(file)]));

test('every file and folder that the page names exists', () => {
  const drawn = page.blocks.flatMap(({ text }) => text.match(/[\w./-]+\.ts/g) ?? []);
  const missing = [...spans(), ...drawn]
    .filter((span) => /^[\w./-]+(?:\/|\.m?ts)$/.test(span))
    .filter((path) => !exists(path));
  expect(missing).toEqual([]);
});

test('every symbol is declared in the file that the page names for it', () => {
  const pairs = [
    ...[...page.prose.matchAll(/`([\w.#]+)` in `([\w./-]+\.ts)`/g)].map(([, symbol, file]) => [symbol, file]),
    ...tables(['Symbol', 'File']),
    ...tables(['Interface', 'File']),
  ];
  expect(pairs.length).toBeGreaterThan(40);
  expect(
    pairs.filter(([symbol = '', file = '']) => !declarations.get(file)?.has(symbol)),
    'symbols that are not there',
  ).toEqual([]);
});

test('every other class and interface that the page names is declared somewhere', () => {
  const all = new Set([...declarations.values()].flatMap((names) => [...names]));
  const named = spans().filter((span) => /^[A-Z][a-z]+[A-Z]?\w*(?:\.#?\w+)?$/.test(span));
  expect(named.filter((name) => !all.has(name))).toEqual([]);
});

test('every folder of the library is on the page', () => {
  const folders = new Set(
    sources.flatMap((file) => {
      const parts = file.split('/').slice(0, -1);
      return parts.map((_, index) => `${parts.slice(0, index + 1).join('/')}/`);
    }),
  );
  const named = new Set(spans());
  const isNamed = (folder: string): boolean => named.has(folder) || named.has(`${folder}*.ts`);
  expect([...folders].filter((folder) => !isNamed(folder))).toEqual([]);
});

test('the floors on the page are those that imports are checked by', async () => {
  const rules = await readFloors();
  const entries = tables(['Floor', 'Folder or file']);
  const pageFloor = (file: string): number | undefined => {
    const entry = entries.find(([, place = '']) => {
      if (!place.endsWith('/*.ts')) return place.endsWith('/') ? file.startsWith(place) : file === place;
      return file.startsWith(place.slice(0, -'*.ts'.length)) && file.split('/').length === 2;
    });
    return entry && Number(entry[0]);
  };
  const differing = sources
    .map((file) => ({
      file,
      page: pageFloor(file),
      checked: rules.findIndex((one) => one.test(`lib/${file}`)),
    }))
    .filter((one) => one.page !== one.checked);
  expect(differing).toEqual([]);
});

test('the parts of a database on the page are those of QueueDatabase', () => {
  const parts = readInterface('lib/storage/database.ts', 'QueueDatabase');
  expect(new Map(tables(['Part', 'Interface']) as [string, string][])).toEqual(
    new Map(parts.map(({ name, type }) => [name, type])),
  );
});

test('the page names whatever implements a bell or a liveness', () => {
  const cells = new Map(tables(['Contract', 'Implemented by']) as [string, string][]);
  const said = [...cells].map(([contract, classes]) => [
    contract.split('` in `')[0],
    classes.split('`, `').sort(),
  ]);
  expect(Object.fromEntries(said)).toEqual({
    Bell: implementing('Bell'),
    Liveness: implementing('Liveness'),
  });
});

/** What stands in backticks. */
function spans(): string[] {
  return [...page.prose.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
}

/** The named columns of all tables that have them, row by row, without outer backticks. */
function tables(columns: readonly string[]): string[][] {
  const rows: string[][] = [];
  let places: number[] | undefined;
  for (const line of page.prose.split('\n')) {
    if (!line.startsWith('|')) {
      places = undefined;
      continue;
    }
    const cells = line.split('|').map((cell) => cell.trim().replaceAll(/^`|`$/g, ''));
    if (places) rows.push(places.map((place) => cells[place] ?? ''));
    else {
      const found = columns.map((column) => cells.indexOf(column));
      places = found.includes(-1) ? [] : found;
    }
  }
  return rows.filter((row) => row.length > 0 && !row.every((cell) => /^-+$/.test(cell)));
}

/** Paths of the library are written without `lib/`. */
function exists(path: string): boolean {
  const place = [`lib/${path}`, path].map(pathOf).find((one) => existsSync(one));
  return place !== undefined && statSync(place).isDirectory() === path.endsWith('/');
}

/** What a file declares: `Name`, and `Name.member` for classes and interfaces. */
function declaredIn(file: string): ReadonlySet<string> {
  const path = pathOf(`lib/${file}`);
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest);
  const names = new Set<string>();
  for (const one of source.statements) {
    if (ts.isVariableStatement(one)) {
      for (const { name } of one.declarationList.declarations)
        if (ts.isIdentifier(name)) names.add(name.text);
    } else if (ts.isFunctionDeclaration(one) || ts.isTypeAliasDeclaration(one)) {
      if (one.name) names.add(one.name.text);
    } else if (ts.isClassDeclaration(one) || ts.isInterfaceDeclaration(one)) {
      const owner = one.name?.text ?? '';
      names.add(owner);
      for (const { name } of one.members) {
        if (name && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)))
          names.add(`${owner}.${name.text}`);
      }
    }
  }
  return names;
}

/** Classes that say that they implement an interface. */
function implementing(name: string): string[] {
  return sources
    .flatMap((file) => [
      ...readFileSync(pathOf(`lib/${file}`), 'utf8').matchAll(/class (\w+) implements (\w+)/g),
    ])
    .filter(([, , implemented]) => implemented === name)
    .map(([, implementer = '']) => implementer)
    .sort();
}

/** What stands on each floor, from the bottom to the top. */
async function readFloors(): Promise<readonly RegExp[]> {
  const { default: config } = (await import(pathOf('.dependency-cruiser.mjs'))) as {
    readonly default: { readonly forbidden: readonly FloorRule[] };
  };
  const rules = config.forbidden.filter(({ name }) => name.startsWith('no-way-up-from-floor-'));
  const top = rules.at(-1)?.to.path;
  if (top === undefined) throw new Error('there are no rules of floors');
  return [...rules.map(({ from }) => from.path), top].map((path) => new RegExp(path));
}

interface FloorRule {
  readonly name: string;
  readonly from: { readonly path: string };
  readonly to: { readonly path: string };
}
