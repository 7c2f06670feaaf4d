/** Digits and exponents that JavaScript may not hold; a quick look that is sometimes wrong about text. */
const suspicious = /[\d.]{16}|\d[eE][+-]?\d/;
const numberAt = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
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
    const token = tokenAt(json, at);
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

/** Text, a number or a word as a whole, else one character. */
function tokenAt(json: string, at: number): string {
  if (json[at] === '"') {
    let end = at + 1;
    while (json[end] !== '"') end += json[end] === '\\' ? 2 : 1;
    return json.slice(at, end + 1);
  }
  numberAt.lastIndex = at;
  return numberAt.exec(json)?.[0] ?? json.charAt(at);
}

function isChanged(token: string): boolean {
  if (!/^[-\d]/.test(token)) return false;
  const value = Number(token);
  const digits = token.replace(/[eE].*$/, '').replace(/^-?[0.]*|\./g, '');
  if (!Number.isFinite(value) || (value === 0 && digits !== '')) return true;
  return digits.length > safeDigits && String(value) !== token;
}
