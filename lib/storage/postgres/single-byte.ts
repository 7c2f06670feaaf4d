/** Encodings of one byte as PostgreSQL calls them, and as the platform that decodes them does. */
const decoders: Readonly<Record<string, string>> = {
  LATIN2: 'iso-8859-2',
  LATIN3: 'iso-8859-3',
  LATIN4: 'iso-8859-4',
  LATIN5: 'iso-8859-9',
  LATIN6: 'iso-8859-10',
  LATIN7: 'iso-8859-13',
  LATIN8: 'iso-8859-14',
  LATIN9: 'iso-8859-15',
  ISO_8859_5: 'iso-8859-5',
  ISO_8859_6: 'iso-8859-6',
  ISO_8859_7: 'iso-8859-7',
  ISO_8859_8: 'iso-8859-8',
  KOI8R: 'koi8-r',
  KOI8U: 'koi8-u',
  WIN866: 'ibm866',
  WIN874: 'windows-874',
  WIN1250: 'windows-1250',
  WIN1251: 'windows-1251',
  WIN1253: 'windows-1253',
  WIN1254: 'windows-1254',
  WIN1255: 'windows-1255',
  WIN1256: 'windows-1256',
  WIN1257: 'windows-1257',
  WIN1258: 'windows-1258',
};

/** From 0x80 on. These two are written out, because the decoder of Node 20 takes them for one. */
const firstOfWindows = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';
const latin1 = String.fromCharCode(...Array.from({ length: 128 }, (_, index) => 0x80 + index));

/**
 * The characters of the bytes from 0x80 on in an encoding of one byte; a byte that means nothing has an empty text, where
 * the platform would make a control character of it. Undefined for encodings of several bytes, and those not known here.
 *
 * @param encoding as `server_encoding` names it
 */
export function upperCharacters(encoding: string): readonly string[] | undefined {
  const text = decoded(encoding);
  if (text === undefined) return undefined;
  return Array.from(text, (character) => (/[\x80-\x9f\ufffd]/.test(character) ? '' : character));
}

function decoded(encoding: string): string | undefined {
  if (encoding === 'LATIN1') return latin1;
  if (encoding === 'WIN1252') return firstOfWindows + latin1.slice(firstOfWindows.length);
  const label = decoders[encoding];
  return (
    label && new TextDecoder(label).decode(Uint8Array.from(latin1, (character) => character.charCodeAt(0)))
  );
}
