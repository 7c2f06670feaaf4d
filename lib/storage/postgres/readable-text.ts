import { upperCharacters } from './single-byte.js';

/** A text that was stored as bytes. */
export interface ReadableText {
  readonly text: string;
  /** False when some of its bytes are not characters: they are written `\xe3`. */
  readonly isText: boolean;
}

/** Whole characters of UTF-8, or one byte that begins none. */
const utf8 =
  /(?:[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})+|[\x80-\xff]/g;

/**
 * Reads what can be read of bytes and escapes the rest. SQL_ASCII promises nothing: there most writers mean UTF-8.
 *
 * @param bytes a character for each byte
 * @param encoding as `getdatabaseencoding()` calls it
 */
export function readableText(bytes: string, encoding: string): ReadableText {
  let isText = true;
  const escape = (byte: string): string => {
    isText = false;
    return `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`;
  };
  const upper = upperCharacters(encoding);
  const text =
    upper === undefined
      ? bytes.replace(utf8, (found) =>
          found.length === 1 ? escape(found) : Buffer.from(found, 'latin1').toString('utf8'),
        )
      : bytes.replace(/[\x80-\xff]/g, (byte) => upper[byte.charCodeAt(0) - 0x80] || escape(byte));
  return { text, isText };
}
