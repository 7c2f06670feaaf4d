import { parseExactly } from '../values/json-numbers.js';

/** A subscription's headers for who edits them: values other than texts are shown as JSON writes them. */
export function readHeaderFields(json: string | null): Record<string, string> | null {
  const headers = readHeaders(json);
  // JSON other than an object holds no headers.
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) return null;
  return Object.fromEntries(
    Object.entries(headers).map(([name, one]) => [name, typeof one === 'string' ? one : JSON.stringify(one)]),
  );
}

/** Headers as they are stored, of any kind of JSON: a number, such as that of an account, keeps all its digits. */
export function readHeaders(json: string | null): unknown {
  if (json === null) return null;
  try {
    return parseExactly(json);
  } catch {
    return null;
  }
}
