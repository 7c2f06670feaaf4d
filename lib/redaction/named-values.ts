import { redacted } from './url-credentials.js';

/** A text without its secrets. */
export interface RedactedText {
  readonly text: string;
  /** How many values were replaced. */
  readonly count: number;
}

/**
 * A name with the sign between it and its value: `"token":` also where its quotes are escaped, `token=` of a query, a form or
 * a connection string, `token:` as Node shows objects and as headers are written. Every part is limited, and no two attempts
 * look at the same characters, so that it takes time in proportion to the text.
 */
const named =
  /(?:((?<!\\)\\{0,64}["'`])([^"'`\\\r\n]{1,128})\1|(?<![\p{L}\p{N}_.%$[\]-])([\p{L}\p{N}_.%$[\]-]{1,128}))\s{0,8}(=>|[:=])[^\S\r\n]{0,8}/gu;

/** The value of an authorization header. */
const credentials = /(?:Bearer|Basic|Digest|Token|Negotiate)[^\S\r\n]{1,8}[^\s"'`,;<>]+/iy;
/** A value without quotes, behind a name with quotes, and of a query or form. */
const literal = /[^\s,;}\]"'`<>]+/y;
const parameter = /[^\s&;#"'`<>]+/y;
const number = /[+-]?\d[\p{L}\p{N}._-]*/uy;
const lineRest = /[^\r\n"'`]+/y;
/** Headers that are nothing but secrets. */
const secretHeader = /authorization$|cookie$/i;

/**
 * Values in a text whose names say that they are secret: of JSON that is part of it or has been cut, of addresses, forms,
 * connection strings and headers, and of objects as Node shows them.
 */
export function hideNamedValues(text: string, isSecret: (name: string) => boolean): RedactedText {
  let shown = '';
  let from = 0;
  let count = 0;
  named.lastIndex = 0;
  for (let match = named.exec(text); match; match = named.exec(text)) {
    const [, quote, quoted, bare] = match;
    const name = quoted ?? bare ?? '';
    const begin = match.index + match[0].length;
    if (!isSecret(name.includes('%') ? decoded(name) : name)) {
      // A value may be a name with a value itself.
      named.lastIndex = begin;
      continue;
    }
    const end = valueEnd(text, begin, { isQuoted: quote !== undefined, sign: match[4] ?? '', name });
    if (end > begin) {
      shown += text.slice(from, begin) + redactedLike(text, begin);
      from = end;
      count += 1;
    }
    named.lastIndex = Math.max(end, begin);
  }
  return { text: count === 0 ? text : shown + text.slice(from), count };
}

interface Named {
  readonly isQuoted: boolean;
  readonly sign: string;
  readonly name: string;
}

/** Where a value ends that begins there; the same place where there is none that could be told from prose. */
function valueEnd(text: string, begin: number, { isQuoted, sign, name }: Named): number {
  const opened = /\\{0,64}["'`]/y;
  opened.lastIndex = begin;
  const [quote] = opened.exec(text) ?? [];
  if (quote !== undefined) return stringEnd(text, begin + quote.length, quote);
  if (text.startsWith('null', begin) || text.startsWith('undefined', begin)) return begin;
  const isObject = text[begin] === '{' || text[begin] === '[';
  if (isObject && (isQuoted || sign !== '=')) return bracketEnd(text, begin);
  const authorized = matchEnd(credentials, text, begin);
  if (authorized > begin) return authorized;
  if (isQuoted) return matchEnd(literal, text, begin);
  if (sign === '=') return matchEnd(parameter, text, begin);
  // `token: unexpected` is prose, `Cookie: a=b` and `pin: 1234` are not.
  return matchEnd(secretHeader.test(name) ? lineRest : number, text, begin);
}

function matchEnd(pattern: RegExp, text: string, begin: number): number {
  pattern.lastIndex = begin;
  return begin + (pattern.exec(text)?.[0].length ?? 0);
}

/** Behind the quote that closes a text; the end where it has been cut off. */
function stringEnd(text: string, begin: number, quote: string): number {
  const escapes = quote.length - 1;
  const sign = quote.slice(-1);
  for (let at = text.indexOf(sign, begin); at !== -1; at = text.indexOf(sign, at + 1)) {
    let before = at;
    while (before > begin && text[before - 1] === '\\') before -= 1;
    // Each level of JSON in JSON doubles the backslashes of the one before.
    if ((at - before - escapes) % (2 * (escapes + 1)) === 0 && at - before >= escapes) return at + 1;
  }
  return text.length;
}

/** Behind the bracket that closes an object or list; the end where it has been cut off. */
function bracketEnd(text: string, begin: number): number {
  const signs = /\\{0,64}["'`]|[[{}\]]/g;
  signs.lastIndex = begin;
  let depth = 0;
  for (let match = signs.exec(text); match; match = signs.exec(text)) {
    const [sign] = match;
    if (sign === '{' || sign === '[') depth += 1;
    else if (sign === '}' || sign === ']') depth -= 1;
    else signs.lastIndex = stringEnd(text, signs.lastIndex, sign);
    if (depth === 0) return signs.lastIndex;
  }
  return text.length;
}

/** In quotes where the value was, so that JSON stays JSON. */
function redactedLike(text: string, begin: number): string {
  const [quote = ''] = /^\\{0,64}["'`]/.exec(text.slice(begin, begin + 65)) ?? [];
  return `${quote}${redacted}${quote}`;
}

/** A name of a query as it is read. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
