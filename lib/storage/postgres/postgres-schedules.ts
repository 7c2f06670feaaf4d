import { TarefaError } from '../../errors.js';
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
import type { QueueTables } from './identifiers.js';
import { columnsOf } from './postgres-inserts.js';
import type { QueueAccess } from './queue-access.js';
import { explainTakenId } from './schema/id-sequence.js';
import { currentRole } from './schema/schema-rights.js';
import * as sql from './statements/schedules.js';

type Row = Readonly<Record<string, unknown>>;

/** {@link ScheduleStore} in `<table>_schedule`. */
export class PostgresSchedules implements ScheduleStore {
  readonly #access: QueueAccess;

  constructor(access: QueueAccess) {
    this.#access = access;
  }

  async clock(): Promise<number> {
    const [row] = await this.#ask(sql.readClock, []);
    return Number(row?.['now_ms']);
  }

  async list(): Promise<readonly ScheduleRecord[]> {
    return (await this.#ask(sql.listSchedules(this.#tables), [])).map(readSchedule);
  }

  async find(id: string): Promise<ScheduleRecord | undefined> {
    const [row] = await this.#ask(sql.findSchedule(this.#tables), [id]);
    return row && readSchedule(row);
  }

  async add(schedule: ScheduleValues): Promise<boolean> {
    this.#refuseKeys([schedule]);
    return this.#change(sql.addSchedule(this.#tables), valuesOf(schedule));
  }

  async change(schedule: ScheduleValues, revision: string): Promise<boolean> {
    this.#refuseKeys([schedule]);
    return this.#change(sql.changeSchedule(this.#tables), [...valuesOf(schedule), revision]);
  }

  async remove(id: string): Promise<boolean> {
    return this.#change(sql.removeSchedule(this.#tables), [id]);
  }

  async pause(id: string): Promise<boolean> {
    return this.#change(sql.pauseSchedule(this.#tables), [id]);
  }

  async resume(id: string, nextAt: Date | null, revision: string): Promise<boolean> {
    return this.#change(sql.resumeSchedule(this.#tables), [id, msOf(nextAt), revision]);
  }

  async compare(schedules: readonly ScheduleDefinition[]): Promise<{
    readonly unwritten: readonly UnwrittenSchedule[];
    readonly foreign: readonly string[];
  }> {
    this.#refuseKeys(schedules);
    const ids = schedules.map(({ id }) => id);
    return compareDeclared(schedules, await this.#ask(sql.declaredSchedules(this.#tables), [ids]));
  }

  async declare(
    schedules: readonly (ScheduleValues & Pick<UnwrittenSchedule, 'revision'>)[],
  ): Promise<readonly string[]> {
    const given = schedules.map((schedule) => {
      const [id, rule, task, next] = valuesOf(schedule);
      return { id, rule, task, next, revision: schedule.revision };
    });
    const written = await this.#ask(sql.declareSchedules(this.#tables), [JSON.stringify(given)]);
    return written.map((row) => String(row['id']));
  }

  /** On the connection that claims: it needs none of a pool that may be full. */
  async due(declared: readonly string[], most: number): Promise<DueSchedules> {
    const rows = await this.#explained(
      this.#access.ask(this.#access.sql.dueSchedules, [[...declared], most]),
    );
    const [first] = rows;
    const [nowMs, nextMs] = [Number(first?.['now_ms']), first?.['next_ms'] ?? undefined];
    return {
      ...readDue(rows.filter((row) => row['id'] !== null)),
      nowMs,
      nextInMs: nextMs === undefined ? undefined : Number(nextMs) - nowMs,
    };
  }

  async move(moves: readonly ScheduleMove[]): Promise<readonly string[]> {
    const [keyed, plain] = [moves.filter(isKeyed), moves.filter((move) => !isKeyed(move))];
    const { moveSchedules, moveKeyedSchedules } = this.#access.sql;
    const moved: string[] = [];
    for (const [statement, some] of [
      [moveSchedules, plain],
      [moveKeyedSchedules, keyed],
    ] as const) {
      if (some.length === 0) continue;
      const values = [
        some.flatMap(({ tasks }) => tasks).map(columnsOf),
        some.map(({ id, revision, nextMs: next, missed, tasks: { length: tasks }, lastMs: last }) => ({
          ...{ id, revision, next, missed, tasks, last },
        })),
      ];
      const rows = await this.#explained(
        this.#access.ask(
          statement,
          values.map((value) => JSON.stringify(value)),
        ),
      );
      moved.push(...rows.map((row) => String(row['id'])));
    }
    return moved;
  }

  async #change(text: string, values: unknown[]): Promise<boolean> {
    return (await this.#ask(text, values)).length > 0;
  }

  async #ask(text: string, values: unknown[]): Promise<readonly Row[]> {
    return (await this.#explained(this.#access.inserts.query(text, values))).rows;
  }

  /** A role whose rights were taken away since the start, or that was never asked to work; a task whose id is taken. */
  async #explained<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== '42501') throw explainTakenId(error, this.#tables);
      const { schedules, qualifiedName } = this.#tables;
      const role = await currentRole(this.#access.inserts);
      throw new TarefaError(
        'RIGHTS_MISSING',
        `the role ${role} lacks rights on the schedules of the queue ${qualifiedName}. Run as the owner of its tables:\n\n` +
          `grant select, insert, update, delete on ${schedules} to ${role};\n`,
        { cause: error },
      );
    }
  }

  /** Without the index that keeps keys apart nothing knows whether the task before has ended. */
  #refuseKeys(schedules: readonly ScheduleDefinition[]): void {
    const keyed = schedules.find(({ rule }) => rule.overlap === 'skip');
    if (!keyed || !this.#access.schema.isPartitioned) return;
    throw new TarefaError(
      'INPUT_INVALID',
      `the schedule '${keyed.id}' has overlap: 'skip', which needs unique keys, but a queue in partitions has none: leave overlap out`,
    );
  }

  get #tables(): QueueTables {
    return this.#access.schema.tables;
  }
}

/** In the order of the statements' parameters. */
function valuesOf(schedule: ScheduleValues): unknown[] {
  return [schedule.id, ...definitionTexts(schedule), msOf(schedule.nextAt)];
}

function msOf(time: Date | null): number | null {
  return time && time.getTime();
}
