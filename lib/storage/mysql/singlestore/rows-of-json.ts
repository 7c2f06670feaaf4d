import type { Sent } from '../dialect.js';

/** A column of `json_table`. */
interface Column {
  readonly name: string;
  readonly type: string;
  /** What leads to its value from an entry of the array: nothing, a name or an index. */
  readonly key: string | undefined;
}

/** The types of numbers, which are written into the text: compared with text, an id would be read as a number that is not exact. */
const wholes = new Set(['bigint', 'int']);

/**
 * The entries of an array of JSON as the rows of a derived table, in place of `json_table`.
 *
 * @param columns as `json_table` declares them
 */
export function rowsOfJson(columns: string, json: string): Sent {
  const declared = readColumns(columns);
  const entries = readEntries(json);
  if (entries.length === 0) {
    const nothing = declared.map(({ name }) => `null as ${name}`).join(', ');
    return { text: `(select ${nothing} from dual where 1 = 0)`, values: [] };
  }
  const values: unknown[] = [];
  const rows = entries.map((entry, row) => {
    const fields = declared.map(({ name, type, key }) => {
      const field = fieldSql(valueOf(entry, key), type, values);
      // A union has the names of its first select.
      return row === 0 ? `${field} as ${name}` : field;
    });
    return `select ${fields.join(', ')} from dual`;
  });
  return { text: `(${rows.join(' union all ')})`, values };
}

function fieldSql(value: unknown, type: string, values: unknown[]): string {
  if (value === null || value === undefined) return 'null';
  if (type === 'double') return String(Number(value));
  if (wholes.has(type))
    return String(typeof value === 'number' ? Math.round(value) : BigInt(value as string));
  values.push(typeof value === 'string' ? value : JSON.stringify(value));
  return '?';
}

function readColumns(columns: string): readonly Column[] {
  return [...columns.matchAll(/(\w+) (\w+)[^']*'\$(?:\.(\w+)|\[(\d+)\])?'/g)].map(
    ([, name = '', type = '', field, index]) => ({ name, type, key: field ?? index }),
  );
}

/** Numbers that stand for themselves are ids, whose last digits JavaScript would lose. */
function readEntries(json: string): readonly unknown[] {
  if (/^\[[\d,-]+\]$/.test(json)) return json.slice(1, -1).split(',');
  return JSON.parse(json) as readonly unknown[];
}

function valueOf(entry: unknown, key: string | undefined): unknown {
  return key === undefined ? entry : (entry as Readonly<Record<string, unknown>>)[key];
}
