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
