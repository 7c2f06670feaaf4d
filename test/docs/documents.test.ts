import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { blocksIn, documentAt, documents, pathOf } from './documents.js';

const promise =
  'task exists exactly when your transaction committed; its effects in the same database happen at most once, and ' +
  'exactly once when it succeeds; other effects happen at least once, with a stable key to recognise repeats; a ' +
  'task is retried a bounded number of times, then its dead handler runs; nothing is dropped silently';

const manifest = JSON.parse(readFileSync(pathOf('package.json'), 'utf8')) as {
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
};

test('README makes the promise in its own words, and nobody promises more', () => {
  expect(documentAt('README.md').prose).toContain(promise);
  const boastful = documents.filter(({ text }) => /exactly[- ]once (execution|delivery)/i.test(text));
  expect(boastful.map(({ path }) => path)).toEqual([]);
});

test('every document that names SingleStore says that the library was not run there', () => {
  const silent = documents.filter(
    ({ text }) => /single_?store/i.test(text) && !/not run on SingleStore/i.test(text),
  );
  expect(silent.map(({ path }) => path)).toEqual([]);
});

test('every document can be found from the index', () => {
  const index = documentAt('docs/README.md').text;
  const missing = documents
    .map(({ path }) => path)
    .filter((path) => path.startsWith('docs/') && path !== 'docs/README.md')
    .filter((path) => !index.includes(`(${path.slice('docs/'.length)})`));
  expect(missing).toEqual([]);
});

test('the changelog has a section for this version', () => {
  expect(documentAt('CHANGELOG.md').text).toContain(`\n## [${manifest.version}]`);
});

test('every block says what it is', () => {
  const known = ['ts', 'sql', 'mysql', 'sh', 'json', 'python', 'mermaid', 'text', 'console', 'yaml', 'ini'];
  const unknown = documents
    .flatMap(({ blocks }) => blocks)
    .filter(({ language }) => !known.includes(language))
    .map(({ place, language }) => `${place}: '${language}'`);
  expect(unknown).toEqual([]);
});

test.each(blocksIn('json'))('the JSON at $place is JSON', ({ text }) => {
  expect(JSON.parse(text)).toBeInstanceOf(Object);
});

describe('links', () => {
  test.each(documents.map(({ path }) => path))('of %s lead somewhere', (path) => {
    const broken = linksOf(path).filter((target) => !resolves(path, target));
    expect(broken).toEqual([]);
  });
});

test('every npm command is one that there is', () => {
  const commands = blocksIn('sh').flatMap(({ place, text }) =>
    text.split('\n').map((line) => ({ place, line: line.trim() })),
  );
  const unknown = commands.filter(({ line }) => {
    const [, script] = /^npm (?:run )?([\w:]+)/.exec(line) ?? [];
    return script !== undefined && !['init', 'install'].includes(script) && !(script in manifest.scripts);
  });
  expect(unknown).toEqual([]);
});

function linksOf(path: string): string[] {
  const prose = documentAt(path).prose.replaceAll(/`[^`]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? '');
}

function resolves(from: string, target: string): boolean {
  if (/^https?:/.test(target)) return true;
  const [file = '', anchor] = target.split('#');
  const path = file === '' ? from : normalize(join(dirname(from), file)).replaceAll('\\', '/');
  if (!existsSync(pathOf(path))) return false;
  return anchor === undefined || anchorsOf(path).has(anchor);
}

/** Anchors as the usual viewers make them from headings. */
function anchorsOf(path: string): Set<string> {
  const headings = documentAt(path).prose.matchAll(/^#+ (.+)$/gm);
  return new Set(
    [...headings].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{Letter}\p{Number} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
