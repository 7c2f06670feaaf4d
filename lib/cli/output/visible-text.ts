// Text of the table comes from any program that inserts: it must not steer the reader's terminal.

/** Control characters of both sets, line separators, and what turns the direction of writing around or joins unseen. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const known: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The text in one line, with what a terminal would obey written out: `\n`, `\x1b`. */
export function visibleLine(text: string): string {
  return text.replace(hidden, (character) => known[character] ?? escaped(character));
}

/** Several lines of text, with what a terminal would obey written out; line breaks and tabs stay. */
export function visibleText(text: string): string {
  return text.replace(hidden, (character) =>
    character === '\n' || character === '\t' ? character : (known[character] ?? escaped(character)),
  );
}

/** JSON text means the same with them written out. Those below a blank are written out already. */
export function visibleJson(json: string): string {
  return json.replace(hidden, (character) => (character === '\n' ? character : unitsOf(character)));
}

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : unitsOf(character);
}

/** As JSON has it: one beyond the basic plane is two units. */
function unitsOf(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
