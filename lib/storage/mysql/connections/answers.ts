import type { Connection, QueryError, TypeCastField } from 'mysql2';

/** Rows whose values are the text that the server sent; times as ISO 8601 in UTC. */
export type TextRow = Readonly<Record<string, string | null>>;

/** What one statement answered. */
export interface Answer {
  /** Empty for a statement that answers none. */
  readonly rows: readonly TextRow[];
  /** Rows that it has found to change, or inserted. */
  readonly changed: number;
  /** Id of the first row that it has inserted; `0` without one. */
  readonly insertId: string;
}

const times = new Set(['DATETIME', 'TIMESTAMP']);

/**
 * Bytes are read as UTF-8: routes are stored as bytes, and mysql2 would read those as Latin-1. Written so, because of columns of
 * JSON it warns when it is told the encoding that they have.
 */
function asText(field: TypeCastField): string | null {
  const text = field.string('utf-8');
  return text !== null && times.has(field.type) ? `${text.replace(' ', 'T')}Z` : text;
}

/** Sends a text of one or several statements; returns one {@link Answer} for each of them. */
export function ask(
  connection: Pick<Connection, 'query'>,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Answer[]> {
  return new Promise((resolve, reject) => {
    connection.query(
      { sql: text, values: [...values], typeCast: asText },
      (error: QueryError | null, answer: unknown) => {
        if (error) reject(error);
        else resolve(isOfSeveral(answer) ? answer.map(readAnswer) : [readAnswer(answer)]);
      },
    );
  });
}

/** Of one statement the driver answers rows or a header, of several an array of these. */
function isOfSeveral(answer: unknown): answer is readonly unknown[] {
  if (!Array.isArray(answer)) return false;
  return answer.some((one) => Array.isArray(one) || isHeader(one));
}

interface Header {
  readonly affectedRows: number;
  readonly insertId: number | string;
}

function isHeader(answer: unknown): answer is Header {
  // Its class is made once by the driver; rows have no prototype of that name.
  return (answer as object | null)?.constructor?.name === 'ResultSetHeader';
}

function readAnswer(answer: unknown): Answer {
  if (Array.isArray(answer)) return { rows: answer as readonly TextRow[], changed: 0, insertId: '0' };
  const { affectedRows, insertId } = answer as Header;
  return { rows: [], changed: affectedRows, insertId: String(insertId) };
}
