import { TarefaError } from '../errors.js';
import type { NewTask } from '../storage/inserts.js';
import { longestScheduleId, type ScheduleRule } from '../storage/schedules.js';
import { nextMatch, parseCron } from '../timing/cron.js';
import { isZone } from '../timing/zone-clock.js';
import { parseInstant, readInstant } from '../values/instant.js';
import { nearest } from '../values/nearest.js';
import type { TopicName, TopicPayload } from '../values/queue-topics.js';
import { readFields } from '../values/read-fields.js';
import { shownValue } from '../values/shown-value.js';
import { encodeTask, readText, taskFields, type TaskInput } from './task-input.js';

/** When a task recurs: `cron` or `every`, and what holds for both. Null is the same as to leave it out. */
export interface RecurrenceInput {
  /**
   * Five fields (minute, hour, day of the month, month, weekday), or six that begin with the second, as `@Cron` of
   * `@nestjs/schedule` takes them: `0 3 * * *`, `@daily`.
   */
  readonly cron?: string | null | undefined;
  /**
   * Ms from one time to the next, at least 1,000. Counted from `startsAt`, or else from 1970, so that an hour begins with the
   * hour, whichever worker is started when.
   */
  readonly every?: number | null | undefined;
  /** Whose clocks `cron` goes by, a name of the IANA database such as `America/Sao_Paulo`. Default `UTC`. */
  readonly timezone?: string | null | undefined;
  /**
   * What is done with times at which no worker inserted the task, because none ran or the database was down, and which are found
   * more than a minute late. `skip`: nothing. `once`, the default: one task for the last of them. `all`: a task for each.
   */
  readonly missed?: 'skip' | 'once' | 'all' | null | undefined;
  /** `skip`: no task while the one before has not ended. Default `allow`. */
  readonly overlap?: 'allow' | 'skip' | null | undefined;
  /** The first time is not before this. Text is ISO 8601 with its time zone. */
  readonly startsAt?: Date | string | null | undefined;
  /** The last time is not after this. */
  readonly endsAt?: Date | string | null | undefined;
  /** Each task is due by chance up to so many ms after its time, at most a day. Default 0. */
  readonly jitter?: number | null | undefined;
}

/** A task that recurs: what an insert takes, but for times and keys. */
export type RecurringTask<Topic extends TopicName = TopicName, Payload = TopicPayload<Topic>> = Omit<
  TaskInput<Topic, Payload>,
  'runAt' | 'delayMs' | 'unique'
>;

/** A schedule to add. */
export interface ScheduleInput extends RecurrenceInput {
  /** At most 100 characters. */
  readonly id: string;
  /** What is inserted each time. */
  readonly task: RecurringTask;
}

const ruleNames: readonly (keyof RecurrenceInput)[] = [
  'cron',
  'every',
  'timezone',
  'missed',
  'overlap',
  'startsAt',
  'endsAt',
  'jitter',
];

const dayMs = 86_400_000;
/** The shortest and the longest `every`. */
const [leastEvery, mostEvery] = [1_000, 3_660 * dayMs];

/** What somebody gave of a schedule, unchecked. */
export type GivenSchedule<Other extends string = never> = Readonly<
  Partial<Record<keyof RecurrenceInput | Other, unknown>>
>;

/**
 * Reads the fields of a schedule and the given others, each once.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function readScheduleFields<Other extends string>(
  given: unknown,
  others: readonly Other[],
): GivenSchedule<Other> {
  const names = [...ruleNames, ...others];
  return readFields('a schedule', given, names, (field) => {
    if (taskFields.has(field))
      return `a schedule has no field '${field}': it belongs to its task, as in task: { ${field} }`;
    const near = nearest(field, names);
    return `a schedule has no field '${field.slice(0, 100)}'${near === undefined ? '' : `: did you mean '${near}'?`}`;
  });
}

/** @throws {TarefaError} `INPUT_INVALID` */
export function readScheduleId(given: unknown): string {
  const id = readText('id', given, longestScheduleId);
  if (id) return id;
  throw invalid('id', given, 'must be text, and not empty');
}

/** @throws {TarefaError} `INPUT_INVALID` */
export function readRule(given: GivenSchedule): ScheduleRule {
  const [cron, every] = [given.cron ?? null, given.every ?? null];
  if ((cron === null) === (every === null)) {
    throw new TarefaError('INPUT_INVALID', 'a schedule must have either cron or every; nothing was done');
  }
  if (every !== null && (given.timezone ?? null) !== null) {
    throw invalid('timezone', given.timezone, 'only applies to cron: every counts elapsed time');
  }
  const [startsAt, endsAt] = [readTime('startsAt', given.startsAt), readTime('endsAt', given.endsAt)];
  if (startsAt !== null && endsAt !== null && endsAt < startsAt) {
    throw invalid('endsAt', endsAt, 'must not be before startsAt');
  }
  return {
    cron: cron === null ? null : readCron(cron),
    every: every === null ? null : readMs('every', every, leastEvery, mostEvery),
    timezone: readZone(given.timezone ?? 'UTC'),
    startsAt,
    endsAt,
    missed: readWord('missed', given.missed ?? 'once', ['skip', 'once', 'all']),
    overlap: readWord('overlap', given.overlap ?? 'allow', ['allow', 'skip']),
    jitter: readMs('jitter', given.jitter ?? 0, 0, dayMs),
  };
}

/**
 * Checks a task that recurs.
 *
 * @throws {TarefaError} `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`, `PAYLOAD_NOT_SERIALISABLE`
 */
export function readRecurringTask(given: unknown, maxPayloadBytes: number): NewTask {
  const task = readFields('the task of a schedule', given, ['runAt', 'delayMs', 'unique']);
  for (const [name, value] of Object.entries(task)) {
    if (value !== undefined && value !== null) {
      throw invalid(`task.${name}`, value, 'must be left out: the schedule sets it');
    }
  }
  return encodeTask(given as TaskInput, false, maxPayloadBytes);
}

function readCron(cron: unknown): string {
  if (typeof cron !== 'string') throw invalid('cron', cron, 'must be text');
  try {
    if (nextMatch(parseCron(cron), 0) !== undefined) return cron;
  } catch (error) {
    throw invalid('cron', cron, (error as Error).message);
  }
  throw invalid('cron', cron, 'names a day that no month has');
}

function readZone(zone: unknown): string {
  if (typeof zone === 'string' && isZone(zone)) return zone;
  throw invalid('timezone', zone, 'must be a time zone of the IANA database, such as Europe/Lisbon');
}

function readTime(name: string, given: unknown): string | null {
  if (given === undefined || given === null) return null;
  const time = typeof given === 'string' ? parseInstant(given, { zone: 'required' }) : readInstant(given);
  if (time) return time.toISOString();
  throw invalid(name, given, 'must be a Date or ISO 8601 text with a time zone');
}

function readMs(name: string, given: unknown, least: number, most: number): number {
  if (typeof given === 'number' && Number.isInteger(given) && given >= least && given <= most) return given;
  throw invalid(name, given, `must be a whole number of milliseconds from ${least} to ${most}`);
}

function readWord<Word extends string>(name: string, given: unknown, words: readonly Word[]): Word {
  const word = words.find((one) => one === given);
  if (word !== undefined) return word;
  throw invalid(name, given, `must be ${words.map((one) => `'${one}'`).join(' or ')}`);
}

function invalid(field: string, value: unknown, problem: string): TarefaError {
  return new TarefaError('INPUT_INVALID', `${field} ${problem} (got ${shownValue(value)}); nothing was done`);
}
