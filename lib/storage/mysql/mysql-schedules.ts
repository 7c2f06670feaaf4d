import { compareDeclared, definitionTexts, isKeyed, readDue, readSchedule } from '../schedule-row.js';
import type {
  DueSchedules,
  ScheduleDefinition,
  ScheduleMove,
  ScheduleRecord,
  ScheduleStore,
  ScheduleValues,
  UnwrittenSchedule,
} from '../schedules.js';
import { isTaken } from './administration/taken.js';
import type { TextRow } from './connections/answers.js';
import { repeated } from './connections/transactions.js';
import type { QueueTables } from './identifiers.js';
import type { MysqlAccess } from './mysql-access.js';
import { valuesOf as taskValues } from './statements/insert.js';
import * as sql from './statements/schedules.js';

/** {@link ScheduleStore} in `<table>_schedule`. */
export class MysqlSchedules implements ScheduleStore {
  readonly #access: MysqlAccess;

  constructor(access: MysqlAccess) {
    this.#access = access;
  }

  async clock(): Promise<number> {
    const [row] = await this.#ask(sql.readClock);
    return Number(row?.['now_ms']);
  }

  async list(): Promise<readonly ScheduleRecord[]> {
    return (await this.#ask(sql.listSchedules(this.#tables))).map(readSchedule);
  }

  async find(id: string): Promise<ScheduleRecord | undefined> {
    const [row] = await this.#ask(sql.findSchedule(this.#tables), [id]);
    return row && readSchedule(row);
  }

  async add(schedule: ScheduleValues): Promise<boolean> {
    return this.#add(schedule, false);
  }

  async change(schedule: ScheduleValues, revision: string): Promise<boolean> {
    const values = [...valuesOf(schedule), schedule.id, false, revision];
    return this.#change(sql.changeSchedule(this.#tables), values);
  }

  async remove(id: string): Promise<boolean> {
    return this.#change(sql.removeSchedule(this.#tables), [id]);
  }

  async pause(id: string): Promise<boolean> {
    return this.#change(sql.pauseSchedule(this.#tables), [id]);
  }

  async resume(id: string, nextAt: Date | null, revision: string): Promise<boolean> {
    return this.#change(sql.resumeSchedule(this.#tables), [nextAt?.getTime() ?? null, id, revision]);
  }

  async compare(schedules: readonly ScheduleDefinition[]): Promise<{
    readonly unwritten: readonly UnwrittenSchedule[];
    readonly foreign: readonly string[];
  }> {
    if (schedules.length === 0) return { unwritten: [], foreign: [] };
    const ids = schedules.map(({ id }) => id);
    return compareDeclared(schedules, await this.#ask(sql.declaredSchedules(this.#tables, ids.length), ids));
  }

  /** One by one, each committed: two that start together wait for nobody. */
  async declare(
    schedules: readonly (ScheduleValues & Pick<UnwrittenSchedule, 'revision'>)[],
  ): Promise<readonly string[]> {
    const written: string[] = [];
    for (const schedule of schedules) {
      const { id, revision } = schedule;
      const hasWritten =
        revision === null
          ? await this.#add(schedule, true)
          : await this.#change(sql.changeSchedule(this.#tables), [...valuesOf(schedule), id, true, revision]);
      if (hasWritten) written.push(id);
    }
    return written;
  }

  async due(declared: readonly string[], most: number): Promise<DueSchedules> {
    const ids = declared.length === 0 ? [null] : declared;
    const [clock, due] = await this.#access.own.several(sql.dueSchedules(this.#tables, declared.length), [
      ...ids,
      ...ids,
      most,
    ]);
    const { now_ms: now = null, next_ms: next = null } = clock?.rows[0] ?? {};
    return {
      ...readDue(due?.rows ?? []),
      nowMs: Number(now),
      nextInMs: next === null ? undefined : Number(next) - Number(now),
    };
  }

  /** A transaction each, so that those of several workers never wait for each other in a circle. */
  async move(moves: readonly ScheduleMove[]): Promise<readonly string[]> {
    const moved: string[] = [];
    for (const move of moves) if (await this.#move(move)) moved.push(move.id);
    return moved;
  }

  #move(move: ScheduleMove): Promise<boolean> {
    const { id, revision, nextMs = null, missed, tasks, lastMs = null } = move;
    const keyed = isKeyed(move);
    const rows = tasks.flatMap((task) => {
      const key = task.unique?.stored;
      return [...taskValues(task), ...(keyed ? [key, key] : [])];
    });
    const values = [
      nextMs,
      missed + tasks.length,
      id,
      revision,
      ...rows,
      ...(tasks.length > 0 ? [lastMs, tasks.length, id] : []),
    ];
    return this.#access.own.use(async (run) => {
      const [, changed] = await repeated(run, () =>
        run(sql.moveText(this.#tables, tasks.length, keyed), values),
      );
      return (changed?.changed ?? 0) > 0;
    });
  }

  async #add(schedule: ScheduleValues, isDeclared: boolean): Promise<boolean> {
    try {
      return await this.#change(sql.addSchedule(this.#tables), [
        isDeclared,
        ...valuesOf(schedule),
        schedule.id,
      ]);
    } catch (error) {
      if (isTaken(error)) return false;
      throw error;
    }
  }

  async #change(text: string, values: readonly unknown[]): Promise<boolean> {
    const [last] = await this.#access.own.use((run) => repeated(run, () => run(text, values)));
    return (last?.changed ?? 0) > 0;
  }

  async #ask(text: string, values?: readonly unknown[]): Promise<readonly TextRow[]> {
    return (await this.#access.own.query(text, values)).rows;
  }

  get #tables(): QueueTables {
    return this.#access.tables;
  }
}

/** Rule, task and next time, in the order of the statements' parameters. */
function valuesOf(schedule: ScheduleValues): unknown[] {
  return [...definitionTexts(schedule), schedule.nextAt && schedule.nextAt.getTime()];
}
