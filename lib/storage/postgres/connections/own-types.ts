import { types, type CustomTypesConfig } from 'pg';
import { readDate } from '../../columns.js';

type ReadText = (text: string) => unknown;

const { BOOL, INT2, INT4, OID, FLOAT4, FLOAT8, TIMESTAMPTZ, JSON: json, JSONB } = types.builtins;

/** The types of which statements of the library read more than the text; `pg` has no name for arrays of it. */
const readers: Readonly<Record<number, ReadText>> = {
  [BOOL]: (text) => text === 't',
  [INT2]: Number,
  [INT4]: Number,
  [OID]: Number,
  [FLOAT4]: Number,
  [FLOAT8]: Number,
  [TIMESTAMPTZ]: readDate,
  [json]: JSON.parse,
  [JSONB]: JSON.parse,
  1009: readTextArray,
};

const asItIs: ReadText = (text) => text;

/**
 * How answers to statements of the library are read. An application may have taught its `pg` to read types in another way
 * (`types.setTypeParser`, or `types` in the configuration that is given as the connection): that is for its own statements, those
 * of its handlers included.
 */
export const ownTypes: CustomTypesConfig = {
  getTypeParser: (type: number) => readers[type] ?? asItIs,
};

/** Reads an array of texts without arrays in it. */
function readTextArray(text: string): readonly (string | null)[] {
  const elements = text.matchAll(/"((?:[^"\\]|\\.)*)"|([^{},]+)/gs);
  return Array.from(elements, ([, quoted, plain = null]) =>
    quoted === undefined ? (plain === 'NULL' ? null : plain) : quoted.replace(/\\(.)/gs, '$1'),
  );
}
