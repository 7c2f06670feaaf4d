import { askHandle, type SqlHandle } from '../sql-handle.js';
import { TarefaError } from '../../errors.js';
import { unreadableColumns } from '../unreadable.js';
import { readableText } from './readable-text.js';

/** A row as any driver gives it. */
type Row = Readonly<Record<string, unknown>>;

/**
 * True when PostgreSQL refused a value: class 22. A SELECT is refused so when a text in it cannot be sent, because its
 * bytes are none of the characters that client and server know in common.
 */
export function isDataError(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' && code.startsWith('22');
}

/**
 * Reads rows though some of their texts cannot be sent: then all of them are sent as bytes, in JSON, and what is not text
 * among them is escaped and named in {@link unreadableColumns}. Numbers beyond 2^53 have to be selected as text.
 *
 * @param text a SELECT that writes nothing
 */
export const queryReadable: ReadRows = async (handle, text, values) => {
  try {
    return await handle.query(text, values);
  } catch (error) {
    if (!isDataError(error)) throw error;
    return queryBytes(handle, text, values);
  }
};

/** Reads texts as bytes at once, for callers that know that one cannot be sent: a transaction that failed reads nothing more. */
export const queryBytes: ReadRows = async (handle, text, values) => {
  try {
    return { rows: await askBytes(handle, text, values) };
  } catch (error) {
    return withoutRows(error);
  }
};

/** Reads texts as bytes through a handle of a user's, whose driver may read values other than text in ways of its own. */
export async function askBytes(
  handle: SqlHandle,
  text: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const rows = await askHandle(handle, asBytes(text), values);
  return rows.map(({ bytes, encoding }) => readBytes(String(bytes), String(encoding)));
}

/** Runs a SELECT on a handle and reads its rows. */
export type ReadRows = (
  handle: SqlHandle,
  text: string,
  values?: unknown[],
) => Promise<{ rows: Record<string, unknown>[] }>;

/**
 * Reads in a transaction, and when some text cannot be sent once more in another one, by {@link queryBytes}.
 *
 * @param transaction runs its argument inside a transaction
 */
export async function readInTransaction<T>(
  transaction: (work: (tx: SqlHandle) => Promise<T>) => Promise<T>,
  work: (tx: SqlHandle, read: ReadRows) => Promise<T>,
): Promise<T> {
  try {
    return await transaction((tx) => work(tx, (handle, text, values) => handle.query(text, values)));
  } catch (error) {
    if (!isDataError(error)) throw error;
    return transaction((tx) => work(tx, queryBytes));
  }
}

/** A text as {@link readTextBytes} reads it: sent as bytes, so that it can always be sent. */
export const textBytes = (text: string): string =>
  `encode(convert_to(${text}, getdatabaseencoding()), 'base64')`;

/** Reads a text that was sent as {@link textBytes}; what is not text in it is escaped. */
export function readTextBytes(bytes: unknown, encoding: unknown): string {
  return readableText(Buffer.from(String(bytes), 'base64').toString('latin1'), String(encoding)).text;
}

/** Where only bytes are sent back it is a parameter that was refused. */
function withoutRows(error: unknown): { rows: [] } {
  const { code } = error as { readonly code?: unknown };
  // It has a character that the encoding of the database lacks: no row can have it.
  if (code === '22P05') return { rows: [] };
  if (code !== '22021') throw error;
  throw new TarefaError(
    'INPUT_INVALID',
    'a value to search for contains the character NUL, which no text in the database has',
    {
      cause: error,
    },
  );
}

/** Bytes in the encoding of the database are not converted, so no conversion can fail. */
export function asBytes(text: string): string {
  // A statement is known by its first line.
  const [name = ''] = /^-- name: .*\n/.exec(text) ?? [];
  return `${name}select
  ${textBytes('row_to_json(whole)::text')} as bytes, getdatabaseencoding() as encoding
from (
${text.slice(name.length)}
) whole`;
}

/** JSON is written in ASCII characters, which all of these encodings have in common: bytes are read one by one first. */
export function readBytes(bytes: string, encoding: string): Record<string, unknown> {
  const unreadable: string[] = [];
  const row = JSON.parse(Buffer.from(bytes, 'base64').toString('latin1')) as Row;
  const read = Object.entries(row).map(([name, value]): [string, unknown] => {
    const { value: own, isText } = readValue(value, encoding);
    if (!isText) unreadable.push(name);
    return [name, own];
  });
  return Object.fromEntries(unreadable.length === 0 ? read : [...read, [unreadableColumns, unreadable]]);
}

function readValue(value: unknown, encoding: string): { readonly value: unknown; readonly isText: boolean } {
  if (typeof value === 'string') {
    const { text, isText } = readableText(value, encoding);
    return { value: text, isText };
  }
  if (!Array.isArray(value)) return { value, isText: true };
  const parts = value.map((one) => readValue(one, encoding));
  return { value: parts.map((part) => part.value), isText: parts.every(({ isText }) => isText) };
}
