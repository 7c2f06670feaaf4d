import { hideNamedValues, type RedactedText } from './redaction/named-values.js';
import { isSecretName } from './redaction/secret-names.js';
import { hideCredentials, redacted } from './redaction/url-credentials.js';

export { redacted };

/** JSON without its secrets. */
export interface RedactedValue {
  readonly value: unknown;
  /** How many values were replaced. */
  readonly count: number;
}

/** Keys from the root on; undefined where no rule names anything. */
type Path = readonly string[] | undefined;

/** An object or list whose values are looked at. */
interface Holder {
  readonly values: Record<string, unknown>;
  readonly path: Path;
  readonly isRoot: boolean;
  readonly isList: boolean;
  /** True in a list of lists, as names and values may be written: `[["token", "…"]]`. */
  readonly inList: boolean;
}

/** Where an object has its name, and its value, in fields of their own: a header, a variable, a field of a form. */
const nameFields: ReadonlySet<string> = new Set([
  'name',
  'key',
  'field',
  'header',
  'parameter',
  'param',
  'property',
  'attribute',
  'variable',
  'nome',
  'chave',
  'campo',
  'k',
]);
const valueFields: ReadonlySet<string> = new Set([
  'value',
  'values',
  'val',
  'content',
  'valor',
  'valores',
  'v',
]);

/** JSON in JSON in JSON: what is deeper is hidden without a look at it. */
const deepestText = 12;
/** Names that are remembered, and characters of one. */
const mostNames = 10_000;
const longestKnown = 100;

/** Replaces values by their names and paths, in JSON and in texts. Takes time in proportion to what it is given. */
export class Redaction {
  readonly #names: ReadonlySet<string>;
  readonly #paths: readonly (readonly string[])[];
  /** No rule names what is deeper than that. */
  readonly #deepest: number;
  readonly #known = new Map<string, boolean>();

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
    const { value, count } = this.#redact(given, [], 0);
    return { value, count };
  }

  /** A text, which may be JSON, have some in it, or hold addresses. Before it is cut: half a secret is not recognised. */
  text(text: string): RedactedText {
    return this.#text(text, [], 0);
  }

  /** @param texts how many texts of JSON it is in */
  #redact(given: unknown, path: Path, texts: number): RedactedValue & { readonly members: number } {
    const root = { value: given };
    const work: Holder[] = [{ values: root, path, isRoot: true, isList: false, inList: false }];
    let [count, members] = [0, 0];
    for (let next = work.pop(); next; next = work.pop()) {
      const { values, isRoot, isList } = next;
      const keys = Object.keys(values);
      if (!isList && !isRoot) members += keys.length;
      const isPair = !isRoot && this.#isPair(next, keys);
      for (const key of keys) {
        const here = isRoot ? path : this.#below(next.path, key);
        const value = values[key];
        if (!isRoot && this.#isSecret(key, here, isList, isPair)) {
          if (value === null) continue;
          values[key] = redacted;
          count += 1;
        } else if (typeof value === 'string') {
          const own = this.#text(value, here, texts);
          count += own.count;
          values[key] = own.text;
        } else if (typeof value === 'object' && value !== null) {
          const isArray = Array.isArray(value);
          const copy: object = isArray ? [...(value as unknown[])] : plainCopy(value);
          values[key] = copy;
          work.push({
            values: copy as Record<string, unknown>,
            path: here,
            isRoot: false,
            isList: isArray,
            inList: isList,
          });
        }
      }
    }
    return { value: root.value, count, members };
  }

  #text(text: string, path: Path, texts: number): RedactedText {
    if (mayBeJson(text)) {
      const own = this.#json(text, path, texts);
      if (own) return own;
    }
    if (!/[:=]/.test(text)) return { text, count: 0 };
    const shown = hideCredentials(text);
    const named = hideNamedValues(shown, (name) => this.#isSecretName(name));
    return { text: named.text, count: named.count + (shown === text ? 0 : 1) };
  }

  /** Undefined for text other than JSON. */
  #json(text: string, path: Path, texts: number): RedactedText | undefined {
    let given: unknown;
    try {
      given = JSON.parse(text);
    } catch {
      return undefined;
    }
    if (texts >= deepestText) return { text: redacted, count: 1 };
    const { value, count, members } = this.#redact(given, path, texts + 1);
    // As it was written, with numbers of any size; but of names that are there twice only the last value was looked at.
    if (count === 0 && countMembers(text) === members) return { text, count: 0 };
    return { text: printed(value) ?? redacted, count: Math.max(count, 1) };
  }

  /** Paths that no rule can name are not kept: they would take more than the JSON itself. */
  #below(path: Path, key: string): Path {
    return path && path.length < this.#deepest ? [...path, key] : undefined;
  }

  #isSecret(key: string, path: Path, isIndex: boolean, isPair: boolean): boolean {
    if (isPair && (isIndex ? key === '1' : valueFields.has(key.toLowerCase()))) return true;
    if (!isIndex && this.#isSecretName(key)) return true;
    return this.#paths.some(
      (rule) =>
        rule.length === path?.length &&
        rule.every((part, index) => part === '*' || part === path[index]?.toLowerCase()),
    );
  }

  /** `{ name: 'token', value }` and `['token', value]`. */
  #isPair({ values, isList, inList }: Holder, keys: readonly string[]): boolean {
    const names = isList
      ? inList && keys.length === 2
        ? ['0']
        : []
      : keys.filter((key) => nameFields.has(key.toLowerCase()));
    return names.some((key) => {
      const name = values[key];
      return typeof name === 'string' && this.#isSecretName(name);
    });
  }

  #isSecretName(name: string): boolean {
    let isSecret = this.#known.get(name);
    if (isSecret === undefined) {
      isSecret = isSecretName(name) || (this.#names.size > 0 && this.#names.has(plain(name)));
      if (this.#known.size >= mostNames) this.#known.clear();
      if (name.length <= longestKnown) this.#known.set(name, isSecret);
    }
    return isSecret;
  }
}

/** What holds for every dashboard. */
const builtIn = new Redaction([]);

/** Untrusted text without what is secret under any rules. */
export function withoutSecrets(text: string): string {
  return builtIn.text(text).text;
}

/** JSON that was parsed, as text; null when it is nested too deep to be printed. */
export function printed(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}

/** An object, a list, or a text that may be JSON again. */
function mayBeJson(text: string): boolean {
  const [first, last] = [text.trimStart()[0], text.trimEnd().at(-1)];
  return (
    (first === '{' && last === '}') || (first === '[' && last === ']') || (first === '"' && last === '"')
  );
}

/** How many names with values JSON has. */
function countMembers(json: string): number {
  let count = 0;
  let isText = false;
  for (let at = 0; at < json.length; at += 1) {
    const sign = json.charCodeAt(at);
    if (sign === 0x22) isText = !isText;
    else if (isText && sign === 0x5c) at += 1;
    else if (!isText && sign === 0x3a) count += 1;
  }
  return count;
}

/** Own keys only, whatever they are called. */
function plainCopy(value: object): object {
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [key, one] of Object.entries(value)) copy[key] = one;
  return copy;
}

function plain(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}
