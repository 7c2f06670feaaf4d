import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { ownFile } from '../values/own-file.js';

/** How a file may be compressed, the smallest first. */
const encodings = ['br', 'gzip'] as const;

/** As a file is sent: compressed when it has an encoding. */
export interface SentFile {
  readonly type: string;
  readonly content: Buffer;
  readonly encoding: (typeof encodings)[number] | undefined;
}

/** What the page consists of. */
export interface PageFiles {
  /** The document; what it needs it loads from below wherever it was found. */
  readonly document: string;
  /** `Content-Security-Policy` of the document. */
  readonly policy: string;
  /** Part of the files' address, another one when any of them has changed: browsers may keep what is below it. */
  readonly version: string;
  /** By path below `assets/<version>/`. */
  readonly assets: ReadonlyMap<string, PageAsset>;
}

/** A file of the page. It is compressed once, when a browser first asks for it so. */
export class PageAsset {
  readonly #compressed = new Map<string, Promise<Buffer>>();

  constructor(
    readonly type: string,
    readonly content: Buffer,
  ) {}

  /** @param accepted the request's `Accept-Encoding` */
  async send(accepted: string): Promise<SentFile> {
    const encoding = encodings.find((one) => accepts(accepted, one));
    if (encoding === undefined) return { type: this.type, content: this.content, encoding };
    const known = this.#compressed.get(encoding);
    const made = known ?? compress[encoding](this.content);
    if (!known) this.#compressed.set(encoding, made);
    return { type: this.type, content: await made, encoding };
  }
}

const compress = {
  br: (content: Buffer): Promise<Buffer> =>
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (content: Buffer): Promise<Buffer> => promisify(gzip)(content, { level: 9 }),
};

function accepts(header: string, encoding: string): boolean {
  return header.split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((one) => one.trim().toLowerCase());
    return name === encoding && !parameters.some((one) => /^q=0(\.0*)?$/.test(one));
  });
}

/** What versions begin with, so that none is taken for a folder of the page. */
export const versionPrefix = 'v-';

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
  const index = ownFile('dashboard/page/index.html', 'The dashboard');
  const template = await readFile(index, 'utf8');
  const folder = fileURLToPath(new URL('.', index));
  const assets = new Map<string, PageAsset>();
  const hash = createHash('sha256');
  for (const entry of (await readdir(folder, { recursive: true })).toSorted()) {
    const path = entry.replaceAll('\\', '/');
    const type = types[path.slice(path.lastIndexOf('.') + 1)];
    if (type === undefined) continue;
    const content = await readFile(join(folder, entry));
    assets.set(path, new PageAsset(type, content));
    hash.update(`${path}\0${content.length}\0`).update(content);
  }
  const version = `${versionPrefix}${hash.digest('hex').slice(0, 16)}`;
  const document = template.replaceAll('{version}', version);
  return { document, policy: policyOf(document), version, assets };
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
