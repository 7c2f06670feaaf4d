/**
 * JSON with a line for each value. Only space outside of texts is changed: numbers keep all their digits, and keys that
 * stand twice stay.
 *
 * @param {string} json valid JSON
 */
export function indentedJson(json) {
  let depth = 0;
  let out = '';
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g)) {
    const isClosing = token === ']' || token === '}';
    if (isClosing) depth -= 1;
    if (isClosing ? !/[[{]$/.test(out) : /(^|\n)$|[[{,]$/.test(out) && out !== '')
      out += `\n${'  '.repeat(depth)}`;
    out += token === ':' ? ': ' : token;
    if (token === '[' || token === '{') depth += 1;
  }
  return out;
}
