import type { Completion, Failure } from '../attempt.js';
import { upperCharacters } from './single-byte.js';

/** Turns what a worker writes of an attempt into texts that the encoding of its database has. */
export interface StorableTexts {
  completion(completion: Completion): Completion;
  failure(failure: Failure): Failure;
  message(text: string): string;
}

/**
 * What an encoding lacks becomes `?` in messages and errors, and an escape in results, which are JSON: an attempt that
 * has succeeded must not count as failed for a character of what it returned. UTF8 and SQL_ASCII take everything, so that the answer is undefined; of
 * encodings with several bytes to a character nothing is known here, so that what they lack still fails its attempt.
 *
 * @param encoding of the database, as `server_encoding` names it
 */
export function storableTexts(encoding: string): StorableTexts | undefined {
  const upper = upperCharacters(encoding);
  if (!upper) return undefined;
  const known = new Set(upper);
  const replaced = (text: string): string => replaceLacking(text, known, () => '?');
  return {
    message: replaced,
    completion: (completion) => ({
      ...completion,
      message: replaced(completion.message),
      result: completion.result && replaceLacking(completion.result, known, escaped),
    }),
    failure: (failure) => ({
      ...failure,
      message: replaced(failure.message),
      error: failure.error && replaced(failure.error),
    }),
  };
}

function replaceLacking(
  text: string,
  known: ReadonlySet<string>,
  replace: (lacking: string) => string,
): string {
  return text.replace(/[^\0-\x7F]/gu, (character) => (known.has(character) ? character : replace(character)));
}

/** As JSON writes a character in ASCII: one escape for each half of a pair. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}
