import { tokenEnd, withChanges, type TextChange } from './json-parts.js';

/** Digits and exponents that JavaScript may not hold; a quick look that is sometimes wrong about text. */
const suspicious = /[\d.]{16}|\d[eE][+-]?\d/;
/** More of them do not fit into a JavaScript number. */
const safeDigits = 15;

/**
 * The members of a JSON object as they are written, without blanks between tokens, when some of them hold a number that
 * `JSON.parse` would change: 12345678901234567890, 1e400. Undefined when there is none, as is usual.
 *
 * @param json an object, already found to be JSON
 */
export function membersWithLargeNumbers(json: string): ReadonlyMap<string, string> | undefined {
  if (!suspicious.test(json)) return undefined;
  const members = new Map<string, string>();
  let depth = 0;
  let key: string | undefined;
  let value = '';
  let isLarge = false;
  const close = (): void => {
    if (key !== undefined && isLarge) members.set(key, value);
    [key, value, isLarge] = [undefined, '', false];
  };
  for (let at = 0; at < json.length;) {
    const token = json.slice(at, tokenEnd(json, at));
    at += token.length;
    if (token.trim() === '') continue;
    if ((token === '}' || token === ']') && (depth -= 1) === 0) close();
    else if (depth === 1 && token === ',') close();
    else if (depth === 1 && key === undefined) key = JSON.parse(token) as string;
    else if (!(depth === 1 && token === ':') && depth > 0) {
      value += token;
      isLarge ||= isChanged(token);
    }
    if (token === '{' || token === '[') depth += 1;
  }
  return members.size > 0 ? members : undefined;
}

/**
 * JSON as JavaScript reads it, but a number that it would change arrives as its text, with all its digits.
 *
 * @throws {SyntaxError}
 */
export function parseExactly(json: string): unknown {
  const value: unknown = JSON.parse(json);
  if (!suspicious.test(json)) return value;
  const changes: TextChange[] = [];
  for (let at = 0; at < json.length;) {
    const end = tokenEnd(json, at);
    const token = json.slice(at, end);
    if (isChanged(token)) changes.push({ start: at, end, text: `"${token}"` });
    at = end;
  }
  return changes.length === 0 ? value : JSON.parse(withChanges(json, changes));
}

function isChanged(token: string): boolean {
  if (!/^[-\d]/.test(token)) return false;
  const value = Number(token);
  const digits = token.replace(/[eE].*/s, '').replace(/^-?[0.]*|\./g, '');
  if (!Number.isFinite(value) || (value === 0 && digits !== '')) return true;
  return digits.length > safeDigits && String(value) !== token;
}
