/**
 * What could forge a line or command a terminal: control characters (line ends, escape), separators that some programs
 * take for line ends, and marks that turn the direction of writing.
 */
// eslint-disable-next-line no-control-regex
const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/;
const allUnsafe = new RegExp(unsafe, 'g');

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Makes untrusted text fit one line of a log: cut first, so that a huge one costs nothing, then without control characters. */
export function cleanText(text: string, longest: number): string {
  const short = text.length > longest ? `${text.slice(0, longest)}…` : text;
  const plain = unsafe.test(short) ? short.replace(allUnsafe, escape) : short;
  return plain.isWellFormed() ? plain : plain.toWellFormed();
}

function escape(character: string): string {
  const code = character.charCodeAt(0);
  return (
    shortEscapes[character] ??
    (code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`)
  );
}
