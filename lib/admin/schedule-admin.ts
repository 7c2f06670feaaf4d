import {
  readRecurringTask,
  readRule,
  readScheduleFields,
  readScheduleId,
  type RecurrenceInput,
  type RecurringTask,
  type ScheduleInput,
} from '../client/schedule-input.js';
import { TarefaError, TaskDuplicateError } from '../errors.js';
import { defaultPriority, type NewTask, type TaskInserts } from '../storage/inserts.js';
import { occurrenceOf } from '../storage/schedule-occurrence.js';
import type { ScheduleRecord, ScheduleRule, ScheduleStore } from '../storage/schedules.js';
import type { TaskRecord } from '../task.js';
import { firstTime } from '../timing/recurrence.js';
import { shownValue } from '../values/shown-value.js';
import type { Some } from '../values/without-unset.js';
import type { PayloadRules } from './edited-retry.js';

/** A schedule, and how it stands. */
export interface Schedule {
  readonly id: string;
  readonly rule: ScheduleRule;
  /** What is inserted each time; the payload as it is stored. */
  readonly task: Pick<
    TaskRecord,
    | 'topic'
    | 'payload'
    | 'externalKey'
    | 'origin'
    | 'destination'
    | 'tenant'
    | 'group'
    | 'priority'
    | 'metadata'
  >;
  /** True for one that code declares with `@Recurring`. */
  readonly declared: boolean;
  /**
   * `undeclared`: code has declared it, and no running worker does any more, so it neither runs nor goes. `ended`: it has no next
   * time.
   */
  readonly status: 'active' | 'paused' | 'undeclared' | 'ended';
  readonly nextAt: Date | null;
  /** The latest time that made a task. */
  readonly lastAt: Date | null;
  /** How many times made no task: nobody was there in time, or the task before had not ended and must not overlap. */
  readonly missed: number;
  readonly pausedAt: Date | null;
}

/** Changes that meet others, and are tried again on what these have left. */
const mostTries = 5;

/** Reads and changes what recurs. Times are the database's. */
export class ScheduleAdmin {
  readonly #schedules: ScheduleStore;
  readonly #inserts: TaskInserts;
  readonly #rules: PayloadRules;
  /** Tells workers that schedules have changed. */
  readonly #ring: () => Promise<void>;

  /** @hidden */
  constructor(
    schedules: ScheduleStore,
    inserts: TaskInserts,
    rules: PayloadRules,
    ring: () => Promise<void>,
  ) {
    this.#schedules = schedules;
    this.#inserts = inserts;
    this.#rules = rules;
    this.#ring = ring;
  }

  /** All of them, by id. */
  async list(): Promise<readonly Schedule[]> {
    return (await this.#schedules.list()).map(shown);
  }

  async find(id: string): Promise<Schedule | undefined> {
    const found = await this.#schedules.find(readScheduleId(id));
    return found && shown(found);
  }

  /**
   * Adds a schedule: from now on some worker inserts its task each time.
   *
   * @example
   * await admin.schedules.add({ id: 'digest', cron: '0 7 * * mon', timezone: 'Europe/Lisbon', task: { topic: 'send-digest' } });
   * @throws {TarefaError} `SCHEDULE_EXISTS`, `INPUT_INVALID`, `PAYLOAD_INVALID`, `PAYLOAD_TOO_LARGE`, `PAYLOAD_NOT_SERIALISABLE`
   */
  async add(input: ScheduleInput): Promise<Schedule> {
    const given = readScheduleFields(input, ['id', 'task']);
    const id = readScheduleId(given.id);
    const rule = readRule(given);
    const task = await this.#readTask(given.task);
    const nextAt = await this.#firstTime(rule, null);
    if (!(await this.#schedules.add({ id, rule, task, nextAt }))) {
      throw new TarefaError(
        'SCHEDULE_EXISTS',
        `schedule ${shownValue(id)} already exists: change it instead`,
      );
    }
    return this.#changed(id);
  }

  /**
   * Changes what is given of a schedule; the rest stays, and so does a time that is due and was not looked at yet. `cron` takes the
   * place of `every`, and the other way round.
   *
   * @throws {TarefaError} `SCHEDULE_DECLARED`, `SCHEDULE_NOT_FOUND`, and as of {@link add}
   */
  async change(
    id: string,
    changes: Some<RecurrenceInput & { readonly task: RecurringTask }>,
  ): Promise<Schedule> {
    const { task: given, ...others } = readScheduleFields(changes, ['task']);
    const task = given === undefined ? undefined : await this.#readTask(given);
    return this.#write(id, async (present) => {
      if (present.declared)
        throw declared(id, 'changed', 'it is declared in code. Change its @Recurring, or pause it');
      const rule = readRule(merged(present.rule, others));
      const nextAt = await this.#firstTime(rule, present.lastAt);
      return this.#schedules.change({ id, rule, task: task ?? present.task, nextAt }, present.revision);
    });
  }

  /**
   * Removes a schedule. Its tasks stay.
   *
   * @throws {TarefaError} `SCHEDULE_DECLARED` while a running worker declares it, `SCHEDULE_NOT_FOUND`
   */
  async remove(id: string): Promise<void> {
    if ((await this.#find(id)).announced) {
      throw declared(id, 'removed', 'a running worker declares it. Pause it, or remove its @Recurring');
    }
    if (!(await this.#schedules.remove(id))) throw notFound(id);
    await this.#ring();
  }

  /**
   * Keeps a schedule from inserting tasks, also over new starts of the code that declares it.
   *
   * @throws {TarefaError} `SCHEDULE_NOT_FOUND`
   */
  async pause(id: string): Promise<Schedule> {
    if (!(await this.#schedules.pause(readScheduleId(id)))) throw notFound(id);
    return this.#changed(id);
  }

  /**
   * Ends a pause: it goes on with the next time. Those of the pause make no tasks, and do not count as missed.
   *
   * @throws {TarefaError} `SCHEDULE_NOT_FOUND`
   */
  async resume(id: string): Promise<Schedule> {
    return this.#write(id, async ({ rule, lastAt, pausedAt, revision }) => {
      if (pausedAt === null) return true;
      return this.#schedules.resume(id, await this.#firstTime(rule, lastAt), revision);
    });
  }

  /**
   * Inserts the task of a schedule now, besides its times; a paused one as well. Returns the task's id.
   *
   * @throws {TarefaError} `TASK_DUPLICATE` when the task before has not ended and must not overlap; `SCHEDULE_NOT_FOUND`
   */
  async run(id: string): Promise<string> {
    const found = await this.#find(id);
    const atMs = await this.#schedules.clock();
    try {
      return await this.#inserts.insert(occurrenceOf(found, { atMs, dueAt: null, onConflict: 'reject' }));
    } catch (error) {
      if (!(error instanceof TaskDuplicateError)) throw error;
      const reason = `task ${error.id} of schedule ${shownValue(id)} has not finished, and its tasks must not overlap`;
      throw new TaskDuplicateError(error.id, error.key, reason);
    }
  }

  async #find(id: string): Promise<ScheduleRecord> {
    const found = await this.#schedules.find(readScheduleId(id));
    if (!found) throw notFound(id);
    return found;
  }

  async #readTask(given: unknown): Promise<NewTask> {
    const { maxPayloadBytes, schemas } = this.#rules;
    const task = readRecurringTask(given, maxPayloadBytes);
    await schemas.check(task.topic, task.payload);
    return task;
  }

  async #firstTime(rule: ScheduleRule, lastAt: Date | null): Promise<Date | null> {
    return firstTime(rule, await this.#schedules.clock(), lastAt);
  }

  /** Writes what is made of a schedule as it was read, and reads it again when others have changed it meanwhile. */
  async #write(id: string, write: (present: ScheduleRecord) => Promise<boolean>): Promise<Schedule> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      if (await write(await this.#find(id))) return this.#changed(id);
    }
    throw new TarefaError(
      'INPUT_INVALID',
      `schedule ${shownValue(id)} keeps being changed by others; nothing was done`,
    );
  }

  /** Tells workers, and answers what it has become. */
  async #changed(id: string): Promise<Schedule> {
    await this.#ring();
    return shown(await this.#find(id));
  }
}

/** One takes the place of the other, and only cron has a time zone. */
function merged(present: ScheduleRule, changes: Readonly<Partial<Record<keyof RecurrenceInput, unknown>>>) {
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  const [hasCron, hasEvery] = [(given['cron'] ?? null) !== null, (given['every'] ?? null) !== null];
  const before = {
    ...present,
    ...(hasCron && !hasEvery ? { every: null } : {}),
    ...(hasEvery && !hasCron ? { cron: null } : {}),
  };
  const isByCron = before.cron !== null;
  return { ...before, timezone: isByCron ? before.timezone : null, ...given };
}

function shown(record: ScheduleRecord): Schedule {
  const { id, rule, declared: isDeclared, nextAt, lastAt, missed, pausedAt } = record;
  const { topic, payload, externalKey, origin, destination, tenant, group, metadata } = record.task;
  const priority = record.task.priority ?? defaultPriority;
  return {
    ...{ id, rule },
    task: { topic, payload, externalKey, origin, destination, tenant, group, priority, metadata },
    declared: isDeclared,
    status: statusOf(record),
    ...{ nextAt, lastAt, missed, pausedAt },
  };
}

function statusOf(
  record: Pick<ScheduleRecord, 'announced' | 'declared' | 'pausedAt' | 'nextAt'>,
): Schedule['status'] {
  if (record.declared && !record.announced) return 'undeclared';
  if (record.pausedAt) return 'paused';
  return record.nextAt ? 'active' : 'ended';
}

function notFound(id: string): TarefaError {
  return new TarefaError('SCHEDULE_NOT_FOUND', `schedule ${shownValue(id)} not found`);
}

function declared(id: string, what: string, why: string): TarefaError {
  return new TarefaError('SCHEDULE_DECLARED', `schedule ${shownValue(id)} cannot be ${what}: ${why}`);
}
