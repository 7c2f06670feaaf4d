import type { HandlerAnswer } from '../mysql-transaction-connection.js';

/** Of the status that a server sends with what is no rows. */
const inTransaction = 1;

/** Reads what the driver answers. Of several statements the last one answers. */
export function readAnswer(answer: unknown): HandlerAnswer {
  const last = lastOf(answer);
  if (Array.isArray(last)) return { rows: last as Record<string, unknown>[], rowCount: last.length };
  return { rows: [], rowCount: isHeader(last) ? last.affectedRows : 0 };
}

/** Whether a transaction is open after that answer; undefined when it does not say. */
export function leavesOpen(answer: unknown): boolean | undefined {
  const last = lastOf(answer);
  return isHeader(last) ? (last.serverStatus & inTransaction) !== 0 : undefined;
}

function lastOf(answer: unknown): unknown {
  const isOfSeveral = Array.isArray(answer) && answer.some((one) => isHeader(one) || Array.isArray(one));
  return isOfSeveral ? (answer as readonly unknown[]).at(-1) : answer;
}

interface Header {
  readonly affectedRows: number;
  readonly serverStatus: number;
}

function isHeader(answer: unknown): answer is Header {
  // Its class is made once by the driver; rows have no prototype of that name.
  return (answer as object | null)?.constructor?.name === 'ResultSetHeader';
}
