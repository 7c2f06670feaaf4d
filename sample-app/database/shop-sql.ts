import type { SqlHandle } from '../../lib/index.js';
import type { OrderReport } from '../orders/order-reports.js';

/** The shop's own SQL: a file for each database that it runs on. Parameters are in the order of the comments. */
export interface ShopSql {
  /** Makes the tables that are missing; several shops may start at once. */
  readonly createTables: string;
  /** Inserts an order and answers its id. Values: customer, items as JSON, note. */
  insertOrder(tx: SqlHandle, values: unknown[]): Promise<number>;
  /** Publication, order. */
  readonly notePublication: string;
  /** Order, words. */
  readonly insertSearchEntry: string;
  /** Order. */
  readonly insertReceipt: string;
  /** Order, line, sku, quantity. */
  readonly insertReservation: string;
  /** What is wrong, order. */
  readonly noteAttention: string;
  /** Order. */
  readonly insertSurvey: string;
  /** Order; one row, for {@link ShopSql.readReport}. */
  readonly findReport: string;
  readReport(row: Record<string, unknown>): OrderReport;
}
