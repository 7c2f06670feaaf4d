import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** A fenced block of a document. */
export interface CodeBlock {
  /** File and line, as an editor opens it: `docs/quick-start.md:12`. */
  readonly place: string;
  readonly language: string;
  /** What stands behind the language: a file name, a purpose. */
  readonly note: string;
  /** The heading it stands under. */
  readonly heading: string;
  readonly text: string;
}

/** A document of this repository. */
export interface Document {
  /** Relative to the repository: `docs/quick-start.md`. */
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly CodeBlock[];
  /** The text without its blocks. */
  readonly prose: string;
}

/** Those of the root, and everything below docs. */
export const documents: readonly Document[] = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
].map(readDocument);

export function documentAt(path: string): Document {
  const found = documents.find((document) => document.path === path);
  if (!found) throw new Error(`there is no document ${path}`);
  return found;
}

/** All blocks of some languages, in the order of the documents. */
export function blocksIn(...languages: string[]): readonly CodeBlock[] {
  return documents.flatMap(({ blocks }) => blocks).filter(({ language }) => languages.includes(language));
}

/** The SQL under a heading of a guide. */
export function sqlUnder(path: string, heading: string, language = 'sql'): readonly string[] {
  const found = documentAt(path).blocks.filter(
    (block) => block.language === language && block.heading === heading,
  );
  if (found.length === 0) throw new Error(`${path} has no SQL under '${heading}'`);
  return found.map(({ text }) => text);
}

/** Where a file of the repository is. */
export function pathOf(name: string): string {
  return join(root, name);
}

function readDocument(name: string): Document {
  const text = readFileSync(join(root, name), 'utf8');
  const path = relative(root, join(root, name)).replaceAll('\\', '/');
  const blocks: CodeBlock[] = [];
  const prose: string[] = [];
  let heading = '';
  let open: { fence: RegExp; block: Omit<CodeBlock, 'text'>; indent: number; lines: string[] } | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    if (open) {
      if (!open.fence.test(line)) open.lines.push(line.slice(open.indent));
      else {
        blocks.push({ ...open.block, text: open.lines.join('\n') });
        open = undefined;
      }
      continue;
    }
    const [, indent = '', ticks, language = '', note = ''] =
      /^( *)(`{3,})([^\s`]*) *([^`]*)$/.exec(line) ?? [];
    if (ticks === undefined) {
      prose.push(line);
      heading = /^#+ (.+)$/.exec(line)?.[1] ?? heading;
    } else {
      const block = { place: `${path}:${index + 1}`, language, note, heading };
      open = { fence: new RegExp(`^ *${ticks}$`), block, indent: indent.length, lines: [] };
    }
  }
  if (open) throw new Error(`the block at ${open.block.place} has no end`);
  return { path, text, blocks, prose: prose.join('\n') };
}
