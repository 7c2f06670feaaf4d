import {
  readParts,
  textOf,
  withChanges,
  type JsonMember,
  type JsonPart,
  type TextChange,
} from '../values/json-parts.js';
import { hideNamedValues, type RedactedText } from './named-values.js';
import { isSecretName } from './secret-names.js';
import { hideCredentials, redacted } from './url-credentials.js';

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
  readonly members: readonly JsonMember[];
  readonly path: Path;
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

  /** A copy of parsed JSON. */
  redact(given: unknown): RedactedValue {
    const json = printed(given);
    // Nested too deep to be printed, it cannot be shown either.
    if (json === null) return { value: redacted, count: 1 };
    const { text, count } = this.#json(json, [], 0) ?? { text: json, count: 0 };
    return { value: JSON.parse(text), count };
  }

  /** A text, which may be JSON, have some in it, or hold addresses. Before it is cut: half a secret is not recognised. */
  text(text: string): RedactedText {
    return this.#text(text, [], 0);
  }

  /** @param texts how many texts of JSON it is in */
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

  /**
   * Undefined for text other than JSON. What is not secret stays as it is written: numbers of any size, names that are there
   * twice. It goes as deep as the JSON does, without recursion.
   */
  #json(json: string, path: Path, texts: number): RedactedText | undefined {
    if (!isJson(json)) return undefined;
    if (texts >= deepestText) return { text: redacted, count: 1 };
    const changes: TextChange[] = [];
    const work: Holder[] = [];
    let count = 0;
    const look = (part: JsonPart, at: Path, inList: boolean): void => {
      const { start, end, members, isList } = part;
      if (members) return void work.push({ members, path: at, isList, inList });
      const text = textOf(json, part);
      const own = text === undefined ? undefined : this.#text(text, at, texts + 1);
      if (!own || own.count === 0) return;
      count += own.count;
      changes.push({ start, end, text: JSON.stringify(own.text) });
    };
    look(readParts(json), path, false);
    for (let holder = work.pop(); holder; holder = work.pop()) {
      const isPair = this.#isPair(json, holder);
      for (const { key, value } of holder.members) {
        const here = this.#below(holder.path, key);
        if (!this.#isSecret(key, here, holder.isList, isPair)) look(value, here, holder.isList);
        else if (!json.startsWith('null', value.start)) {
          count += 1;
          changes.push({ start: value.start, end: value.end, text: JSON.stringify(redacted) });
        }
      }
    }
    return { text: withChanges(json, changes), count };
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
  #isPair(json: string, { members, isList, inList }: Holder): boolean {
    const isNaming = ({ key }: JsonMember, index: number): boolean =>
      isList ? inList && members.length === 2 && index === 0 : nameFields.has(key.toLowerCase());
    return members.some((member, index) => {
      const name = isNaming(member, index) ? textOf(json, member.value) : undefined;
      return name !== undefined && this.#isSecretName(name);
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

/** JSON that was parsed, as text; null when it is nested too deep to be printed. */
function printed(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch {
    return null;
  }
}

/** True for text that `JSON.parse` takes. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** An object, a list, or a text that may be JSON again. */
function mayBeJson(text: string): boolean {
  const [first, last] = [text.trimStart()[0], text.trimEnd().at(-1)];
  return (
    (first === '{' && last === '}') || (first === '[' && last === ']') || (first === '"' && last === '"')
  );
}

function plain(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}
