import type { TypeCastField } from 'mysql2';
import { computedColumns } from '../../lib/storage/mysql/schema/schema.js';

/** Columns that hold JSON, which `pg` parses where PostgreSQL has a type for it. */
const json = new Set(['metadados', 'headers', 'routes', 'dead_routes', 'secrets', 'waits', 'runs']);

const ownToMysql = new Set(computedColumns.map(({ name }) => name));

/** A value as `pg` reads it from PostgreSQL: whole numbers of eight bytes as text, times as dates, conditions as booleans. */
export function asPgReads(field: TypeCastField): unknown {
  if (field.name === 'payload_hash') return field.buffer();
  const text = field.string('utf8');
  if (text === null) return null;
  switch (field.type) {
    case 'TINY':
    case 'SHORT':
    case 'INT24':
    case 'LONG':
    case 'LONGLONG':
      if (field.length === 1) return text !== '0';
      return field.type === 'LONGLONG' ? text : Number(text);
    case 'FLOAT':
    case 'DOUBLE':
      return Number(text);
    case 'DATETIME':
    case 'TIMESTAMP':
      return new Date(`${text.replace(' ', 'T')}Z`);
    default:
      return json.has(field.name) ? (JSON.parse(text) as unknown) : text;
  }
}

/** Without the columns that only MySQL's tables have. */
export function withoutOwnColumns(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !ownToMysql.has(name)));
}
