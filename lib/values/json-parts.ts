/** A value in a text of JSON: where it stands there, and what it holds. */
export interface JsonPart {
  readonly start: number;
  /** Behind its last character. */
  readonly end: number;
  /** Of an object or a list: its values in the order in which they are written. Undefined for all others. */
  readonly members: readonly JsonMember[] | undefined;
  readonly isList: boolean;
}

/** A value of an object by its name, which may be there twice, or of a list by its index. */
export interface JsonMember {
  readonly key: string;
  readonly value: JsonPart;
}

/** What takes the place of a part of a text. */
export interface TextChange {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A part that is being read. */
interface OpenPart extends JsonPart {
  end: number;
  readonly members: JsonMember[] | undefined;
}

const blank = /\s/;
const wordAt = /[^\s,:[\]{}"]+/y;

/**
 * Reads where everything stands in JSON, so that some of it can be replaced and the rest stays as it is written: every digit
 * of its numbers, names that are there twice, blanks. It goes as deep as the JSON does, without recursion.
 *
 * @param json text that `JSON.parse` takes
 */
export function readParts(json: string): JsonPart {
  const root: OpenPart = { start: 0, end: json.length, members: [], isList: true };
  const open: OpenPart[] = [root];
  let key: string | undefined;
  for (let at = 0; at < json.length;) {
    const sign = json.charAt(at);
    const end = tokenEnd(json, at);
    const holder = open.at(-1) ?? root;
    if (sign === '}' || sign === ']') {
      holder.end = end;
      open.pop();
    } else if (sign === '"' && !holder.isList && key === undefined) {
      key = textBetween(json, at, end);
    } else if (sign !== ',' && sign !== ':' && !blank.test(sign)) {
      const isHolder = sign === '{' || sign === '[';
      const part: OpenPart = { start: at, end, members: isHolder ? [] : undefined, isList: sign === '[' };
      const { members = [] } = holder;
      members.push({ key: key ?? String(members.length), value: part });
      key = undefined;
      if (isHolder) open.push(part);
    }
    at = end;
  }
  const [only] = root.members ?? [];
  if (!only) throw new SyntaxError('an empty text is not JSON');
  return only.value;
}

/** What a text says that is written in JSON; undefined for a part that is no text. */
export function textOf(json: string, { start, end }: JsonPart): string | undefined {
  return json.startsWith('"', start) ? textBetween(json, start, end) : undefined;
}

/** A text with some of its parts replaced; none of them overlap. */
export function withChanges(text: string, changes: readonly TextChange[]): string {
  if (changes.length === 0) return text;
  let changed = '';
  let from = 0;
  for (const change of changes.toSorted((one, other) => one.start - other.start)) {
    changed += text.slice(from, change.start) + change.text;
    from = change.end;
  }
  return changed + text.slice(from);
}

/** Where a text, a number or a word ends that begins there; one character for everything else. */
export function tokenEnd(json: string, at: number): number {
  if (json[at] === '"') {
    let end = at + 1;
    while (json[end] !== '"') end += json[end] === '\\' ? 2 : 1;
    return end + 1;
  }
  wordAt.lastIndex = at;
  return wordAt.test(json) ? wordAt.lastIndex : at + 1;
}

function textBetween(json: string, start: number, end: number): string {
  const inner = json.slice(start + 1, end - 1);
  return inner.includes('\\') ? (JSON.parse(json.slice(start, end)) as string) : inner;
}
