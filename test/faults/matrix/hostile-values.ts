/** A value that nobody should have written, as SQL; and how it is called where a test fails. */
export interface HostileValue {
  readonly name: string;
  readonly sql: string;
}

/** The encodings that databases of this contract are found in. */
export type Encoding = 'UTF8' | 'SQL_ASCII' | 'WIN1252' | 'LATIN1';

/** Bytes that such a column may hold and that are not, or not all, characters for a client that speaks UTF-8. */
const foreignBytes: Readonly<Record<Encoding, readonly HostileValue[]>> = {
  UTF8: [
    { name: 'emoji', sql: `U&'\\+01F600'` },
    { name: 'direction override', sql: `U&'a\\202Eb'` },
    { name: 'noncharacter', sql: `U&'a\\FFFF'` },
  ],
  SQL_ASCII: [
    { name: 'LATIN1 bytes', sql: `E'Jo\\xe3o'` },
    { name: 'JSON in LATIN1', sql: `E'{"nome":"Jo\\xe3o"}'` },
    { name: 'half a character', sql: `E'a\\xe2\\x82'` },
  ],
  WIN1252: [
    { name: 'undefined byte', sql: `E'a\\x81b'` },
    { name: 'accents', sql: `E'Jo\\xe3o \\x80'` },
  ],
  LATIN1: [{ name: 'all of it', sql: `E'Jo\\xe3o \\x80\\x9f\\xff'` }],
};

const control = { name: 'control characters', sql: `E'\\x01\\x1b[31m\\x7f\\r\\n\\t'` };

const texts = (longest: number, encoding: Encoding): readonly HostileValue[] => [
  { name: 'null', sql: 'null' },
  { name: 'empty', sql: `''` },
  { name: 'longest', sql: `repeat('x', ${longest})` },
  { name: 'unknown word', sql: `left('xyz', ${longest})` },
  { name: 'quotes', sql: `left($q$"'\\{},%$q$, ${longest})` },
  { name: 'JSON of a wrong type', sql: `'[1]'` },
  ...[control, ...foreignBytes[encoding]].map(({ name, sql }) => ({ name, sql: `left(${sql}, ${longest})` })),
];

const jsons: readonly HostileValue[] = [
  { name: 'null', sql: 'null' },
  { name: 'JSON null', sql: `'null'` },
  { name: 'text', sql: `'"x"'` },
  { name: 'number', sql: `'42'` },
  { name: 'list', sql: `'[1, "x"]'` },
  { name: 'empty', sql: `'{}'` },
  { name: 'values of wrong types', sql: `'{"a": 1, "b": null, "c": [], "d": {"e": true}, "__proto__": 1}'` },
  { name: 'deep', sql: `(repeat('[', 3000) || repeat(']', 3000))` },
  { name: 'long', sql: `('"' || repeat('x', 1000000) || '"')` },
  { name: 'control characters', sql: `'{"x-a": "a\\r\\nb: c", "": ""}'` },
];

const times: readonly HostileValue[] = [
  { name: 'null', sql: 'null' },
  ...[
    'infinity',
    '-infinity',
    '4713-01-01 00:00:00+00 BC',
    '294276-12-31 00:00:00+00',
    '0001-01-01 00:00:00+00',
  ].map((time) => ({ name: time, sql: `'${time}'` })),
];

const numbers = (...values: readonly string[]): readonly HostileValue[] =>
  ['null', '0', '-5', ...values].map((value) => ({
    name: value,
    sql: value === 'null' ? value : `'${value}'`,
  }));

const byType: Readonly<Record<string, readonly HostileValue[]>> = {
  bigint: numbers('1000000000000', '9223372036854775807', '-9223372036854775808'),
  integer: numbers('2147483647', '-2147483648'),
  'timestamp with time zone': times,
  boolean: ['null', 'true', 'false'].map((sql) => ({ name: sql, sql })),
  bytea: [
    { name: 'null', sql: 'null' },
    { name: 'empty', sql: `''` },
    { name: 'binary', sql: `'\\x00ff81'` },
    { name: 'long', sql: `decode(repeat('ff', 100000), 'hex')` },
  ],
  'text[]': [
    { name: 'null', sql: 'null' },
    { name: 'empty', sql: `'{}'` },
    { name: 'nulls', sql: 'array[null, null]' },
    { name: 'empty texts', sql: `array['', '']` },
    { name: 'unknown words', sql: `array['xyz', E'\\x1b']` },
    { name: 'two dimensions', sql: `array[['a', 'b'], ['c', 'd']]` },
  ],
  'real[]': [
    { name: 'null', sql: 'null' },
    { name: 'empty', sql: `'{}'` },
    { name: 'nulls', sql: 'array[null, null]' },
    { name: 'no numbers', sql: `array['NaN', 'Infinity', '-Infinity']` },
    { name: 'negative', sql: `array[-1, -1e38]` },
    { name: 'largest', sql: `array[3.4e38, 3.4e38]` },
    { name: 'two dimensions', sql: `array[[1, 2], [3, 4]]` },
    { name: 'very many', sql: 'array_fill(1::real, array[10000])' },
  ],
};

/**
 * What a column of that type is attacked with.
 *
 * @param type as `format_type` prints it
 * @throws {Error} for a type that nothing is known to attack with: a new column has to be thought of
 */
export function hostileValues(type: string, encoding: Encoding): readonly HostileValue[] {
  if (type === 'text') return texts(1_200_000, encoding);
  if (type === 'json' || type === 'jsonb') {
    const foreign = encoding === 'SQL_ASCII' ? [{ name: 'LATIN1 bytes', sql: `E'{"nome":"Jo\\xe3o"}'` }] : [];
    return [...jsons, ...foreign].map(({ name, sql }) => ({ name, sql: `${sql}::${type}` }));
  }
  const [, length] = /^character varying\((\d+)\)$/.exec(type) ?? [];
  if (length !== undefined) return texts(Number(length), encoding);
  const values = byType[type];
  if (!values) throw new Error(`no hostile values are known for the type ${type}: name some`);
  return values.map(({ name, sql }) => ({ name, sql: `${sql}::${type}` }));
}

/** True for what only databases of that encoding have: the rest is tried in one encoding. */
export function isForeign(value: HostileValue, encoding: Encoding): boolean {
  return [...foreignBytes[encoding], ...(encoding === 'SQL_ASCII' ? [{ name: 'LATIN1 bytes' }] : [])].some(
    ({ name }) => name === value.name,
  );
}
