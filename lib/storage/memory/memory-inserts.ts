import type { TaskRecord, TaskStatus } from '../../task.js';
import { column, readTaskRecord } from '../columns.js';
import { defaultPriority, type NewTask, type TaskInserts } from '../inserts.js';
import { instant, type MemoryRow } from './memory-row.js';
import type { MemoryTable } from './memory-table.js';

/** What makes two tasks equivalent. */
const compared = [
  'payload',
  'externalKey',
  'origin',
  'destination',
  'topic',
  'tenant',
  'group',
] as const satisfies (keyof NewTask & keyof TaskRecord)[];

/** {@link TaskInserts} in memory. A given transaction changes nothing: what is inserted is there at once, and stays. */
export class MemoryInserts implements TaskInserts {
  readonly #table: MemoryTable;

  constructor(table: MemoryTable) {
    this.#table = table;
  }

  async insert(task: NewTask): Promise<string> {
    return this.#add(task);
  }

  async insertMany(tasks: readonly NewTask[]): Promise<string[]> {
    return tasks.map((task) => this.#add(task));
  }

  async listEquivalent(task: NewTask, statuses: readonly TaskStatus[]): Promise<TaskRecord[]> {
    return this.#table.rows
      .map((row) => readTaskRecord(this.#table.resolved(row)))
      .filter(
        (record) =>
          statuses.some((status) => status === record.status) &&
          compared.every((name) => record[name] === task[name]),
      );
  }

  #add(task: NewTask): string {
    return String(this.#table.add(this.#rowOf(task))[column.id]);
  }

  #rowOf(task: NewTask): MemoryRow {
    const due = task.dueAt === null ? this.#table.nowMs + (task.delayMs ?? 0) : Date.parse(task.dueAt);
    return {
      [column.origin]: task.origin,
      [column.destination]: task.destination,
      [column.topic]: task.topic,
      [column.externalKey]: task.externalKey,
      [column.payload]: task.payload,
      [column.tenant]: task.tenant,
      [column.group]: task.group,
      [column.priority]: String(task.priority ?? defaultPriority),
      [column.publication]: String(task.publication),
      [column.metadata]: task.metadata && JSON.stringify(task.metadata),
      [column.dueAt]: instant(due),
    };
  }
}
