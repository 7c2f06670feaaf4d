import { inspect } from 'node:util';
import { safely } from './safely.js';

/** Characters kept of an error with its stack. */
const longestError = 8_000;
/** Characters kept of a message: what the column takes. */
const longestMessage = 500;
const indescribable = 'the handler threw something that cannot be described';

/** The text of whatever a handler threw, cut to what the message column takes. Never throws. */
export function failureMessage(error: unknown): string {
  const read = (): string => {
    // Its type says text, but an error may carry any value.
    const text: unknown = error instanceof Error ? error.message || error.name : describe(error);
    return cleanMessage(String(text));
  };
  return safely(read, indescribable);
}

/** The whole story for the `erro` column: stack and causes, capped. Never throws. */
export function failureDetail(error: unknown): string {
  const read = (): string =>
    error instanceof Error ? inspect(error, { depth: 3, breakLength: 120 }) : describe(error);
  return withoutNul(safely(read, indescribable)).slice(0, longestError);
}

/** Makes a text fit the message column: no NUL, at most 500 characters (code points, as the column counts). */
export function cleanMessage(text: string): string {
  const clean = withoutNul(text);
  if (clean.length <= longestMessage) return clean;
  // Few texts get here; a slice of UTF-16 units could cut a character in half.
  return Array.from(clean.slice(0, longestMessage * 2))
    .slice(0, longestMessage)
    .join('');
}

/** PostgreSQL stores no NUL in a text. */
export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '') : text;
}

function describe(error: unknown): string {
  return typeof error === 'string' && error !== ''
    ? error
    : `the handler threw ${inspect(error, { depth: 1 })}`;
}
