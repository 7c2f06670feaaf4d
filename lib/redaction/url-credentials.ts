/** What takes the place of a value. */
export const redacted = '[redacted]';

const scheme = /[a-z][a-z0-9+.-]{0,30}$/i;
/** Characters before `://` that may be a scheme. */
const longestScheme = 31;
/** Schemes whose addresses often name a port and have `@` in their path. */
const web = /^(?:https?|wss?)$/i;
const port = /^\d{1,5}(?=[/?#\s,;)\]}'"`<>]|$)/;
/** A quote that closes something: what stands behind it is another text. */
const closingQuote = /["'`](?=[\s,;)\]}:]|$)/;

/**
 * Users and passwords in addresses, which messages of drivers tell. A password that is not encoded may hold `/`, `@` and
 * blanks: it ends at the last `@` of its line before the next address begins. Where that cannot be told from what else is
 * in the line, more is hidden rather than less. Takes time in proportion to the text.
 */
export function hideCredentials(text: string): string {
  let shown = '';
  let from = 0;
  for (let at = text.indexOf('://'); at !== -1;) {
    const begin = at + 3;
    const next = text.indexOf('://', begin);
    const [name] = scheme.exec(text.slice(Math.max(0, at - longestScheme), at)) ?? [];
    if (name !== undefined) {
      const end = begin + credentialsLength(text.slice(begin, next === -1 ? text.length : next), name);
      if (end > begin) {
        shown += text.slice(from, begin) + redacted;
        from = end;
      }
    }
    at = next;
  }
  return from === 0 ? text : shown + text.slice(from);
}

/** How much of what follows `scheme://` is a user with a password. */
function credentialsLength(rest: string, name: string): number {
  // An address of version 6 has colons, too.
  if (rest.startsWith('[')) return 0;
  const line = rest.slice(0, indexOr(rest.search(/[\r\n]/), rest.length));
  const userEnd = indexOr(line.search(/[\s/?#@:]/), line.length);
  if (line[userEnd] === '@') return userEnd;
  if (line[userEnd] !== ':') return 0;
  const password = line.slice(userEnd + 1);
  const lastAt = line.lastIndexOf('@', lineEnd(line) - 1);
  const hasEnd = lastAt > userEnd;
  if (port.test(password) && (web.test(name) || !hasEnd)) return 0;
  if (hasEnd) return lastAt;
  // Its end has been cut off.
  const length = indexOr(password.search(/[\s"'`<>]/), password.length);
  return length === 0 ? 0 : userEnd + 1 + length;
}

function lineEnd(line: string): number {
  return indexOr(line.search(closingQuote), line.length);
}

function indexOr(index: number, otherwise: number): number {
  return index === -1 ? otherwise : index;
}
