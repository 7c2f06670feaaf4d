/** What takes the place of a value. */
export const redacted = '[redacted]';

/** Names, or ends of names, of what is secret whatever the rules: in lower case, letters and digits only. */
const secretNames = [
  'password',
  'passwd',
  'passphrase',
  'senha',
  'secret',
  'segredo',
  'token',
  'authorization',
  'apikey',
  'accesskey',
  'privatekey',
  'cookie',
  'cvv',
  'cvc',
];

/** JSON without its secrets. */
export interface RedactedValue {
  readonly value: unknown;
  /** How many values were replaced. */
  readonly count: number;
}

/** Keys from the root on; undefined where no rule names anything. */
type Path = readonly string[] | undefined;

/** Replaces values by their names and paths. */
export class Redaction {
  readonly #names: ReadonlySet<string>;
  readonly #paths: readonly (readonly string[])[];
  /** No rule names what is deeper than that. */
  readonly #deepest: number;

  /** @param rules as of the option `dashboard.redact` */
  constructor(rules: readonly string[]) {
    const parts = rules.map((rule) => (rule.startsWith('*.') ? rule.slice(2) : rule).split('.'));
    this.#names = new Set(parts.filter((path) => path.length === 1).map(([name]) => plain(name ?? '')));
    this.#paths = parts
      .filter((path) => path.length > 1)
      .map((path) => path.map((part) => part.toLowerCase()));
    this.#deepest = Math.max(0, ...this.#paths.map(({ length }) => length));
  }

  /** A copy of parsed JSON. It goes as deep as the JSON does, without recursion. */
  redact(given: unknown): RedactedValue {
    const root: unknown[] = [given];
    let count = 0;
    const work: { holder: object; path: Path }[] = [{ holder: root, path: [] }];
    for (let next = work.pop(); next; next = work.pop()) {
      const { holder, path } = next;
      const isRoot = holder === root;
      for (const key of Object.keys(holder)) {
        const here = isRoot ? [] : this.#below(path, key);
        const values = holder as Record<string, unknown>;
        const value = values[key];
        if (!isRoot && this.#isSecret(key, here, Array.isArray(holder))) {
          if (value === null) continue;
          values[key] = redacted;
          count += 1;
        } else if (typeof value === 'object' && value !== null) {
          const copy: object = Array.isArray(value) ? [...(value as unknown[])] : plainCopy(value);
          values[key] = copy;
          work.push({ holder: copy, path: here });
        }
      }
    }
    return { value: root[0], count };
  }

  /** Paths that no rule can name are not kept: they would take more than the JSON itself. */
  #below(path: Path, key: string): Path {
    return path && path.length < this.#deepest ? [...path, key] : undefined;
  }

  #isSecret(key: string, path: Path, isIndex: boolean): boolean {
    if (!isIndex) {
      const name = plain(key);
      if (this.#names.has(name) || secretNames.some((secret) => name.endsWith(secret))) return true;
    }
    return this.#paths.some(
      (rule) =>
        rule.length === path?.length &&
        rule.every((part, index) => part === '*' || part === path[index]?.toLowerCase()),
    );
  }
}

/** Passwords in addresses, which messages of drivers tell. */
export function withoutCredentials(text: string): string {
  return text.replace(/\b([a-z][a-z0-9+.-]{1,30}:\/\/)[^\s/@]{1,500}@/gi, `$1${redacted}@`);
}

/** Own keys only, whatever they are called. */
function plainCopy(value: object): object {
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [key, one] of Object.entries(value)) copy[key] = one;
  return copy;
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
