import { compareDeclared, definitionTexts, isKeyed } from '../schedule-row.js';
import type { TaskInserts } from '../inserts.js';
import type {
  DueSchedules,
  ScheduleMove,
  ScheduleRecord,
  ScheduleStore,
  ScheduleValues,
} from '../schedules.js';
import type { MemoryTable } from './memory-table.js';

type Stored = Omit<ScheduleRecord, 'announced'>;

/** {@link ScheduleStore} in memory. */
export class MemorySchedules implements ScheduleStore {
  readonly #table: MemoryTable;
  readonly #inserts: TaskInserts;
  readonly #all = new Map<string, Stored>();

  constructor(table: MemoryTable, inserts: TaskInserts) {
    this.#table = table;
    this.#inserts = inserts;
  }

  async clock(): Promise<number> {
    return this.#table.nowMs;
  }

  async list(): Promise<readonly ScheduleRecord[]> {
    return [...this.#all.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).map((one) => this.#read(one));
  }

  async find(id: string): Promise<ScheduleRecord | undefined> {
    const found = this.#all.get(id);
    return found && this.#read(found);
  }

  async add(schedule: ScheduleValues): Promise<boolean> {
    return this.#add(schedule, false);
  }

  async change(schedule: ScheduleValues, revision: string): Promise<boolean> {
    const before = this.#all.get(schedule.id);
    if (before?.revision !== revision || before.declared) return false;
    this.#define(before, schedule);
    return true;
  }

  async remove(id: string): Promise<boolean> {
    return this.#all.delete(id);
  }

  async pause(id: string): Promise<boolean> {
    const found = this.#all.get(id);
    if (found) this.#write(found, { pausedAt: found.pausedAt ?? new Date(this.#table.nowMs) });
    return found !== undefined;
  }

  async resume(id: string, nextAt: Date | null): Promise<boolean> {
    const found = this.#all.get(id);
    if (!found?.pausedAt) return false;
    this.#write(found, { pausedAt: null, nextAt });
    return true;
  }

  async declare(schedules: readonly ScheduleValues[]): Promise<{
    readonly written: readonly string[];
    readonly foreign: readonly string[];
  }> {
    const rows = schedules.flatMap(({ id }) => {
      const found = this.#all.get(id);
      if (!found) return [];
      const [rule, task] = definitionTexts(found);
      return [{ id, declared: found.declared, rule, task }];
    });
    const { differing, foreign } = compareDeclared(schedules, rows);
    for (const schedule of differing) {
      const before = this.#all.get(schedule.id);
      if (before) this.#define(before, schedule);
      else this.#add(schedule, true);
    }
    return { written: differing.map(({ id }) => id), foreign };
  }

  async due(declared: readonly string[], most: number): Promise<DueSchedules> {
    const { nowMs } = this.#table;
    const served = [...this.#all.values()]
      .flatMap((one) => {
        const { id, rule, task, revision, nextAt, pausedAt } = one;
        const isServed = pausedAt === null && (!one.declared || declared.includes(id));
        return isServed && nextAt ? [{ id, rule, task, revision, dueMs: nextAt.getTime() }] : [];
      })
      .sort((a, b) => a.dueMs - b.dueMs || (a.id < b.id ? -1 : 1));
    const next = served.find(({ dueMs }) => dueMs > nowMs);
    return {
      due: served.filter(({ dueMs }) => dueMs <= nowMs).slice(0, most),
      unreadable: [],
      nowMs,
      nextInMs: next && next.dueMs - nowMs,
    };
  }

  async move(moves: readonly ScheduleMove[]): Promise<readonly string[]> {
    const moved: string[] = [];
    for (const move of moves) {
      const found = this.#all.get(move.id);
      if (found?.revision === move.revision && found.pausedAt === null) {
        moved.push(move.id);
        await this.#move(found, move);
      }
    }
    return moved;
  }

  async #move(found: Stored, move: ScheduleMove): Promise<void> {
    const { nextMs, missed, tasks, lastMs } = move;
    const rows = this.#table.rows.length;
    const inserted = this.#inserts.insertMany(tasks);
    const isMade = !isKeyed(move) || this.#table.rows.length > rows;
    this.#write(found, {
      nextAt: nextMs === undefined ? null : new Date(nextMs),
      lastAt: isMade && lastMs !== undefined ? new Date(lastMs) : found.lastAt,
      missed: found.missed + missed + (isMade ? 0 : tasks.length),
    });
    await inserted;
  }

  #add({ id, rule, task, nextAt }: ScheduleValues, declared: boolean): boolean {
    if (this.#all.has(id)) return false;
    const unset = { lastAt: null, missed: 0, pausedAt: null, revision: '1' };
    this.#all.set(id, { id, declared, rule, task, nextAt, ...unset });
    return true;
  }

  /** A time that is due stays. */
  #define(before: Stored, { rule, task, nextAt }: ScheduleValues): void {
    const isDue = before.nextAt !== null && before.nextAt.getTime() <= this.#table.nowMs;
    this.#write(before, { rule, task, nextAt: isDue ? before.nextAt : nextAt });
  }

  #write(before: Stored, changes: Partial<Stored>): void {
    this.#all.set(before.id, { ...before, ...changes, revision: String(Number(before.revision) + 1) });
  }

  #read(stored: Stored): ScheduleRecord {
    const announced = [...this.#table.workers.values()].some(
      ({ stoppedAt, schedules = [] }) => stoppedAt === undefined && schedules.includes(stored.id),
    );
    return { ...stored, announced };
  }
}
