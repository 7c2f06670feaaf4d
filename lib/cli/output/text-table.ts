import type { TaskState } from '../../task.js';
import { plain, type Paint } from './colours.js';
import { readableTime } from './readable.js';
import { visibleLine } from './visible-text.js';

/** A status, or what is told of it, in its colour. */
export interface StatusCell {
  readonly status: TaskState;
  /** Default: the status. */
  readonly text?: string | undefined;
}

/** What a table shows in a cell; null as nothing. */
export type Cell = string | number | boolean | Date | StatusCell | null | undefined;

/** How a table looks. */
export interface TableLook {
  /** Of the terminal: the last column is cut to it. Default: nothing is cut. */
  readonly width?: number;
  /** Default: no colours. */
  readonly paint?: Paint;
  /** Default: in UTC. */
  readonly time?: (time: Date) => string;
}

const gap = '  ';
/** No column is cut below this. */
const leastWidth = 12;

/** The lines of a table: columns of numbers to the right, the rest to the left. */
export function textTable(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
  { width = Infinity, paint = plain, time = readableTime }: TableLook = {},
): readonly string[] {
  const texts = rows.map((row) => columns.map((_, index) => cellText(row[index], time)));
  const widths = columns.map((name, index) =>
    texts.reduce((widest, row) => Math.max(widest, lengthOf(row[index] ?? '')), lengthOf(name)),
  );
  const isRight = columns.map(
    (_, index) =>
      rows.some((row) => row[index] !== null && row[index] !== undefined) &&
      rows.every((row) => isNumeric(row[index])),
  );
  const last = columns.length - 1;
  const before = widths.slice(0, last).reduce((sum, one) => sum + one + gap.length, 0);
  const room = Math.max(leastWidth, width - before);
  const line = (cells: readonly string[], given: readonly Cell[] = []): string =>
    cells
      .map((cell, index) => {
        const text = index === last ? cut(cell, room) : cell;
        const fill = ' '.repeat(Math.max(0, (widths[index] ?? 0) - lengthOf(text)));
        const own = given[index];
        const shown = isStatus(own) ? paint(text, own.status) : text;
        return isRight[index] === true ? fill + shown : index === last ? shown : shown + fill;
      })
      .join(gap)
      .trimEnd();
  return [line(columns), ...texts.map((cells, index) => line(cells, rows[index]))];
}

function isStatus(cell: Cell): cell is StatusCell {
  return typeof cell === 'object' && cell !== null && 'status' in cell;
}

function cellText(cell: Cell, time: (time: Date) => string): string {
  if (cell === null || cell === undefined) return '';
  if (cell instanceof Date) return time(cell);
  return visibleLine(String(isStatus(cell) ? (cell.text ?? cell.status) : cell));
}

/** Also as people write it: `1,200`, `10,000+`, `12.4 MB`. */
function isNumeric(cell: Cell): boolean {
  if (isStatus(cell)) return cell.text !== undefined && isNumeric(cell.text);
  if (typeof cell === 'string') return /^[\d,.]+(\+| [kMGT]?B)?$/.test(cell);
  return typeof cell === 'number' || cell === null || cell === undefined;
}

/** In characters as a reader counts them, roughly: one that is written twice as wide shifts its line. */
function lengthOf(text: string): number {
  return /^[\u0020-\u007e]*$/.test(text) ? text.length : Array.from(text).length;
}

function cut(text: string, width: number): string {
  if (lengthOf(text) <= width) return text;
  return `${Array.from(text)
    .slice(0, width - 1)
    .join('')}…`;
}
