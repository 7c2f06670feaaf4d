import type { TaskRecord } from '../../task.js';
import type { WorkerId } from '../attempt.js';
import { column, readTaskRecord } from '../columns.js';
import type { DeliveryParts, TestAccess } from '../test-access.js';
import { isDead, type MemoryRow } from './memory-row.js';
import type { MemoryTable } from './memory-table.js';
import { subscriptionRow } from './subscription-row.js';

/** {@link TestAccess} in memory. */
export class MemoryTestAccess implements TestAccess {
  readonly #table: MemoryTable;

  constructor(table: MemoryTable) {
    this.#table = table;
  }

  async inserted(): Promise<readonly TaskRecord[]> {
    const isInserted = (row: MemoryRow): boolean =>
      row[column.firstAttemptId] == null && !isDead(row) && row[column.subscriptionId] == null;
    return this.#read(this.#table.rows.filter(isInserted));
  }

  async attempts(id: string): Promise<readonly TaskRecord[]> {
    return this.#read(this.#table.chainOf(id));
  }

  async hold(id: string, workerId: WorkerId, delivery?: DeliveryParts): Promise<void> {
    const row = this.#table.row(id);
    if (!row) return;
    if (delivery) {
      row[column.subscriptionId] = delivery.subscriptionId;
      row[column.payload] = delivery.envelope;
    }
    this.#table.hold(row, workerId);
  }

  async subscription(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const found = this.#table.subscriptions.get(id);
    return found && subscriptionRow(found);
  }

  async travel(ms: number): Promise<void> {
    this.#table.travel(ms);
  }

  async clear(): Promise<void> {
    this.#table.clear();
  }

  #read(rows: readonly MemoryRow[]): readonly TaskRecord[] {
    return rows.map((row) => readTaskRecord(this.#table.resolved(row)));
  }
}
