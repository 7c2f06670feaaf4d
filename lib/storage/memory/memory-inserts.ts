import type { TaskRecord, TaskStatus } from '../../task.js';
import { readTaskRecord } from '../columns.js';
import type { NewTask, TaskInserts } from '../inserts.js';
import type { MemoryTable } from './memory-table.js';

/** {@link TaskInserts} in memory. A transaction that is given makes no difference: nothing is ever undone. */
export class MemoryInserts implements TaskInserts {
  readonly #table: MemoryTable;

  constructor(table: MemoryTable) {
    this.#table = table;
  }

  async insert(task: NewTask): Promise<string> {
    return String(this.#table.insert(task)['id']);
  }

  async insertMany(tasks: readonly NewTask[]): Promise<string[]> {
    return tasks.map((task) => String(this.#table.insert(task)['id']));
  }

  async listEquivalent(task: NewTask, statuses: readonly TaskStatus[]): Promise<TaskRecord[]> {
    const same = [
      'payload',
      'externalKey',
      'origin',
      'destination',
      'topic',
      'tenant',
      'group',
    ] as const satisfies (keyof NewTask & keyof TaskRecord)[];
    return this.#table.rows
      .map((row) => readTaskRecord(this.#table.resolved(row)))
      .filter(
        (record) =>
          statuses.some((status) => status === record.status) &&
          same.every((name) => record[name] === task[name]),
      );
  }
}
