import type { TaskRecord, TaskStatus } from '../../task.js';
import { column, readTaskRecord, statusColumn } from '../columns.js';
import { TaskDuplicateError } from '../../errors.js';
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
  /** First attempts by their unique keys as they are stored. */
  readonly #unique = new Map<string, string>();

  constructor(table: MemoryTable) {
    this.#table = table;
  }

  async insert(task: NewTask): Promise<string> {
    const { unique } = task;
    const taken = unique && this.#holderOf(unique.stored);
    if (!unique || !taken) return this.#add(task);
    const id = taskIdOf(taken);
    if (unique.onConflict === 'reject') throw new TaskDuplicateError(id, unique.key);
    if (unique.onConflict === 'replace') {
      const row = this.#rowOf(task);
      const isLater = Date.parse(row[column.dueAt] ?? '') > this.#table.nowMs;
      Object.assign(taken, row, {
        [column.firstDueAt]: row[column.dueAt],
        [column.status]: isLater ? statusColumn.scheduled : statusColumn.pending,
      });
    }
    return id;
  }

  async insertMany(tasks: readonly NewTask[]): Promise<string[]> {
    return tasks.map((task) => {
      const taken = task.unique && this.#holderOf(task.unique.stored);
      return taken ? taskIdOf(taken) : this.#add(task);
    });
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
    const id = String(this.#table.add(this.#rowOf(task))[column.id]);
    if (task.unique) this.#unique.set(task.unique.stored, id);
    return id;
  }

  /** The attempt that has a unique key, by the rules of the tables' index. */
  #holderOf(stored: string): MemoryRow | undefined {
    const first = this.#unique.get(stored);
    const attempts = first === undefined ? [] : this.#table.chainOf(first);
    if (stored.startsWith('w:')) return attempts[0];
    const waits = [statusColumn.pending, statusColumn.scheduled] as readonly unknown[];
    if (stored.startsWith('p:')) {
      return attempts.find(
        (row) => row[column.id] === first && waits.includes(row[column.status]) && row['reserva'] === '0',
      );
    }
    return attempts.find(
      (row) => waits.includes(row[column.status]) || row[column.status] === statusColumn.processing,
    );
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

/** The id of the task that an attempt is of. */
function taskIdOf(row: MemoryRow): string {
  return String(row[column.firstAttemptId] ?? row[column.id]);
}
