import type { RecurrenceRule } from '../timing/recurrence.js';
import type { NewTask } from './inserts.js';

/** When a schedule inserts its tasks. */
export interface ScheduleRule extends RecurrenceRule {
  /** What is made of times that were missed: nothing, one task, or one for each. */
  readonly missed: 'skip' | 'once' | 'all';
  /** `skip`: no task while the one before has not ended. */
  readonly overlap: 'allow' | 'skip';
  /** Each task is due up to so many ms later than its time. */
  readonly jitter: number;
}

/** A schedule before its next time is known. */
export interface ScheduleDefinition {
  readonly id: string;
  readonly rule: ScheduleRule;
  /** What is inserted each time. */
  readonly task: NewTask;
}

/** What is written of a schedule. */
export interface ScheduleValues extends ScheduleDefinition {
  /** Null: never again. */
  readonly nextAt: Date | null;
}

/** A schedule whose row is missing, or was declared in another way. */
export interface UnwrittenSchedule extends ScheduleDefinition {
  /** Of the row as it was read; null: there is none. */
  readonly revision: string | null;
  readonly lastAt: Date | null;
}

/** A schedule as it is stored. */
export interface ScheduleRecord extends ScheduleValues {
  /** True for one that code declares: a start of the application writes it. */
  readonly declared: boolean;
  /** True while a running worker declares it. */
  readonly announced: boolean;
  /** The latest time that made a task. */
  readonly lastAt: Date | null;
  /** How many times made no task: they were missed, or the task before had not ended. */
  readonly missed: number;
  readonly pausedAt: Date | null;
  /** Another one after each change. */
  readonly revision: string;
}

/** A schedule whose time has come. */
export interface DueSchedule extends Pick<ScheduleRecord, 'id' | 'rule' | 'task' | 'revision'> {
  /** Ms since 1970. */
  readonly dueMs: number;
}

/** What a look for due schedules finds. */
export interface DueSchedules {
  readonly due: readonly DueSchedule[];
  /** Those that are due and were not written by this library. */
  readonly unreadable: readonly { readonly id: string; readonly error: unknown }[];
  /** The database's clock, in ms since 1970. */
  readonly nowMs: number;
  /** Ms until the first of the others is due; undefined when there is none. */
  readonly nextInMs: number | undefined;
}

/** A schedule that goes on to its next time. */
export interface ScheduleMove {
  readonly id: string;
  /** As it was read: of several workers that move one, the first one does. */
  readonly revision: string;
  /** Ms since 1970; undefined: never again. */
  readonly nextMs: number | undefined;
  /** Times that make no task. */
  readonly missed: number;
  /** Inserted by the same commit; with a unique key at most one, and none while another task has it. */
  readonly tasks: readonly NewTask[];
  /** The latest time that makes a task. */
  readonly lastMs: number | undefined;
}

/** Where the metadata of a task names the schedule that has made it, and the time that it was made for. */
export const scheduleKey = 'tarefa:schedule';
export const occurrenceKey = 'tarefa:occurrence';

/** The most characters of an id. */
export const longestScheduleId = 100;

/** The table of schedules. */
export interface ScheduleStore {
  /** The database's clock, in ms since 1970. */
  clock(): Promise<number>;
  /** All of them, by id. */
  list(): Promise<readonly ScheduleRecord[]>;
  find(id: string): Promise<ScheduleRecord | undefined>;
  /** Adds one; false when the id is taken, and nothing is changed. */
  add(schedule: ScheduleValues): Promise<boolean>;
  /** Writes one that no code declares, if it is as it was read; a time that is due stays. */
  change(schedule: ScheduleValues, revision: string): Promise<boolean>;
  /** Deletes one; false when there was none. */
  remove(id: string): Promise<boolean>;
  /** Keeps one from making tasks; false when there is none. */
  pause(id: string): Promise<boolean>;
  /** Ends a pause if it is as it was read: it goes on at `nextAt`. False when it was not paused. */
  resume(id: string, nextAt: Date | null, revision: string): Promise<boolean>;
  /** Those of code that are missing or differ in rule or task, and the ids of those that somebody else has added. */
  compare(schedules: readonly ScheduleDefinition[]): Promise<{
    readonly unwritten: readonly UnwrittenSchedule[];
    readonly foreign: readonly string[];
  }>;
  /** Writes those that code declares, where they are as they were compared; a time that is due stays. Returns their ids. */
  declare(
    schedules: readonly (ScheduleValues & Pick<UnwrittenSchedule, 'revision'>)[],
  ): Promise<readonly string[]>;
  /** Those that are due, at most so many: of what code declares only these. */
  due(declared: readonly string[], most: number): Promise<DueSchedules>;
  /** Moves schedules that are as they were read and not paused, each with its tasks; returns the ids of these. */
  move(moves: readonly ScheduleMove[]): Promise<readonly string[]>;
}
