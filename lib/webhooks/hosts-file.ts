import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';

/** How long the file is taken to be unchanged before it is looked at again. */
const trustedMs = 1_000;

/**
 * The computer's own names, `/etc/hosts`. Looked at again at most once a second, and meanwhile what is known counts: Node's
 * thread pool, which others may fill for long, is waited for only the first time.
 */
export class HostsFile {
  readonly #path: string;
  #names: ReadonlyMap<string, readonly string[]> = new Map();
  #lookedAt = -Infinity;
  #version = '';
  readonly #first: Promise<void>;

  constructor(path: string = defaultPath()) {
    this.#path = path;
    this.#first = this.#refresh();
  }

  /** The addresses that the file gives a name (lower case, no final dot); empty when none. */
  async find(name: string): Promise<readonly string[]> {
    await this.#first;
    void this.#refresh();
    return this.#names.get(name) ?? [];
  }

  async #refresh(): Promise<void> {
    const now = performance.now();
    if (now - this.#lookedAt < trustedMs) return;
    this.#lookedAt = now;
    try {
      const { mtimeMs, size, ino } = await stat(this.#path);
      const version = `${mtimeMs} ${size} ${ino}`;
      if (version === this.#version) return;
      this.#names = readNames(await readFile(this.#path, 'utf8'));
      this.#version = version;
    } catch {
      // No such file, or not ours to read: then it gives no names.
      this.#names = new Map();
      this.#version = '';
    }
  }
}

function readNames(text: string): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split(/\r?\n/)) {
    const [address = '', ...aliases] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const alias of aliases) {
      const name = alias.toLowerCase().replace(/\.$/, '');
      const known = names.get(name);
      if (known) known.push(address);
      else names.set(name, [address]);
    }
  }
  return names;
}

function defaultPath(): string {
  if (process.platform !== 'win32') return '/etc/hosts';
  return join(process.env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'drivers', 'etc', 'hosts');
}
