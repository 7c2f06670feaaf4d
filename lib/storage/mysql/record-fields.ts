import { column } from '../columns.js';

const timeColumns: ReadonlySet<string> = new Set([
  column.firstDueAt,
  column.dueAt,
  column.nextAttemptAt,
  column.startedAt,
  column.finishedAt,
]);

/** Columns of other values, which drivers make inexact numbers of, or whatever an application has taught them. */
const otherColumns: ReadonlySet<string> = new Set([
  column.id,
  column.firstAttemptId,
  column.attempt,
  column.retried,
  column.exhausted,
  column.tenant,
  column.publication,
  column.publicationId,
  column.dead,
  column.liveId,
  column.priority,
]);

/** SQL of a time as text, which no driver reads in a time zone of its own. */
export const timeText = (time: string): string => `concat(date_format(${time}, '%Y-%m-%dT%H:%i:%s.%f'), 'Z')`;

/**
 * A select list of all columns that `readTaskRecord` reads, of one row. All are text, because handles of users' own read other
 * values in their own way.
 *
 * @param payload SQL that stands in place of the payload
 */
export function recordFields(row: string, payload: string): string {
  return Object.values(column)
    .map((name) => {
      if (name === column.payload) return `${payload} as ${name}`;
      if (timeColumns.has(name)) return `${timeText(`${row}.${name}`)} as ${name}`;
      if (otherColumns.has(name)) return `cast(${row}.${name} as char) as ${name}`;
      return `${row}.${name}`;
    })
    .join(', ');
}
