/** What JSON makes of a value: its text, or why it cannot hold the value. The problem follows what the value is called. */
export type WrittenJson = { readonly text: string } | { readonly problem: string; readonly cause?: unknown };

/** Kinds of objects, as JavaScript names them, that hold nothing when they have no properties. */
const plainKinds: ReadonlySet<string> = new Set(['Object', 'Array', 'String', 'Number', 'Boolean']);

/** Writes a value as JSON, unless something of it would be lost: a `Map` would become `{}`. Never throws. */
export function writeJson(value: unknown): WrittenJson {
  try {
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined) return { problem: nothingWritten(value) };
    // Looked at again only where something may have been lost: a look at every value takes several times as long.
    const emptied = text.includes('{}') ? kindThatIsEmptied(value) : undefined;
    if (emptied === undefined) return { text };
    return { problem: `contains a value of type ${emptied}, which JSON would write as {}` };
  } catch (cause) {
    return { problem: `cannot be written as JSON: ${reasonOf(cause)}`, cause };
  }
}

function nothingWritten(value: unknown): string {
  return typeof value === 'object'
    ? 'has a toJSON() that returns nothing'
    : `is a ${typeof value}, which cannot be written as JSON`;
}

/** `Map`, `Set`, `Promise`, `Generator` …, whose content is in none of their properties. */
function kindThatIsEmptied(value: unknown): string | undefined {
  let found: string | undefined;
  JSON.stringify(value, (_key, one: unknown) => {
    if (found === undefined && typeof one === 'object' && one !== null && Object.keys(one).length === 0) {
      const kind = Object.prototype.toString.call(one).slice('[object '.length, -1);
      if (!plainKinds.has(kind)) found = kind;
    }
    return found === undefined ? one : undefined;
  });
  return found;
}

/** A thrown value may throw in turn when it is converted to text. */
function reasonOf(cause: unknown): string {
  try {
    return String(cause).slice(0, 500);
  } catch {
    return 'a value without text was thrown';
  }
}

/**
 * The value that a handler gets for a payload's text. Only text that begins like an object or an array is parsed; what
 * then is not JSON stays text.
 */
export function decodeText(text: string | null, as: 'json' | 'text'): unknown {
  if (text === null || as === 'text' || (text[0] !== '{' && text[0] !== '[')) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Characters kept of a message: what the column takes. */
export const longestMessage = 500;

/** Makes a text fit the message column: no NUL, at most 500 characters (code points, as the column counts). */
export function cleanMessage(text: string): string {
  // PostgreSQL stores no NUL in a text.
  const clean = text.replaceAll('\0', '');
  if (clean.length <= longestMessage) return clean;
  // Few texts get here; a slice of UTF-16 units could cut a character in half.
  return Array.from(clean.slice(0, longestMessage * 2))
    .slice(0, longestMessage)
    .join('');
}
