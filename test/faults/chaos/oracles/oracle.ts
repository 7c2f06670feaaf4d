import type { Pool } from 'pg';
import type { History } from '../history.js';

/** What the judges look at: the database once nothing runs any more, and what was seen from outside. */
export interface Evidence {
  readonly db: Pick<Pool, 'query'>;
  readonly history: History;
}

export type Invariant = `I${number}`;

/** A promise that was not kept, with some of what shows it. */
export interface Violation {
  readonly invariant: Invariant;
  readonly what: string;
  /** How many there are of it; `rows` has the first ones. */
  readonly count: number;
  readonly rows: readonly object[];
}

/** Looks for violations of one or more invariants; finds none where all is well. */
export type Oracle = (evidence: Evidence) => Promise<readonly Violation[]>;

const mostRows = 10;

/** A violation when there are rows, else none. */
export function violation(invariant: Invariant, what: string, rows: readonly object[]): Violation[] {
  return rows.length === 0 ? [] : [{ invariant, what, count: rows.length, rows: rows.slice(0, mostRows) }];
}

/** The same for the rows of a query. */
export async function violationOf(
  { db }: Evidence,
  invariant: Invariant,
  what: string,
  sql: string,
  values: unknown[] = [],
): Promise<Violation[]> {
  const { rows } = await db.query<Record<string, unknown>>(sql, values);
  return violation(invariant, what, rows);
}
