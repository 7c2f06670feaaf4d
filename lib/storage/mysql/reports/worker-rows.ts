import type { Rows } from '../../read-status.js';

/** Rows of workers with their routes as a list: the table has JSON. */
export function withRoutes(rows: Rows): Rows {
  return rows.map((row) => ({ ...row, routes: JSON.parse(String(row['routes'])) as unknown }));
}
