import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TarefaError } from '../queue.errors.js';

/** A file of the page as it is served. */
export interface PageFile {
  readonly type: string;
  readonly content: Buffer;
}

/** What the page consists of. */
export interface PageFiles {
  /** The document; what it needs it loads from below wherever it was found. */
  readonly document: string;
  /** `Content-Security-Policy` of the document. */
  readonly policy: string;
  /** By path below `assets/`. */
  readonly assets: ReadonlyMap<string, PageFile>;
}

const folder = fileURLToPath(new URL('./page/', import.meta.url));

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

let files: Promise<PageFiles> | undefined;

/** Reads the page once for all dashboards of the process. It is served as it stands in its folder. */
export function readPage(): Promise<PageFiles> {
  files ??= read();
  return files;
}

async function read(): Promise<PageFiles> {
  const document = await readFile(join(folder, 'index.html'), 'utf8').catch((cause: unknown) => {
    throw new TarefaError(
      'OPTIONS_INVALID',
      `the files of the dashboard are not in ${folder}: a bundler may have left them out. Keep nestjs-tarefa out of the bundle, or leave the dashboard out`,
      { cause },
    );
  });
  const assets = new Map<string, PageFile>();
  for (const entry of await readdir(folder, { recursive: true })) {
    const path = entry.replaceAll('\\', '/');
    const type = types[path.slice(path.lastIndexOf('.') + 1)];
    if (type !== undefined) assets.set(path, { type, content: await readFile(join(folder, entry)) });
  }
  return { document, policy: policyOf(document), assets };
}

/** Only its own files, and the one script in the document that finds where they are. */
function policyOf(document: string): string {
  const scripts = [...document.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(
    ([, script]) =>
      `'sha256-${createHash('sha256')
        .update(script ?? '')
        .digest('base64')}'`,
  );
  return [
    `default-src 'none'`,
    `script-src 'self' ${scripts.join(' ')}`,
    `style-src 'self'`,
    `img-src 'self'`,
    `connect-src 'self'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ');
}
