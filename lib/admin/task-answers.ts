import type { TaskCount, WaitingTask } from '../storage/admin.js';
import type { TaskRecord } from '../task.js';

// What the administration answers about tasks.

export type { TaskCount, WaitingTask };

/** A page of attempts, the newest first. */
export interface TaskPage {
  readonly tasks: readonly TaskRecord[];
  /** Hand it over as `after` for the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/** A task with everything that happened to it. */
export interface TaskHistory {
  /** The last attempt: as the task stands now. */
  readonly current: TaskRecord;
  /** Oldest first, replays included. */
  readonly attempts: readonly TaskRecord[];
  /** First attempts of its dead chains. */
  readonly deadIds: readonly string[];
}

/** A task that has ended: its last attempt, and what its handler returned. */
export interface EndedTask<Result = unknown> extends TaskRecord {
  /**
   * What the handler returned, read back from JSON; undefined when it returned nothing, failed, or returned text, which is the
   * `message`.
   */
  readonly returned: Result | undefined;
}

/** True of the last attempt of a task that failed or was cancelled: no attempt follows, unless it is retried. */
export function isRetriable({ status, retried }: TaskRecord): boolean {
  return (status === 'failed' || status === 'cancelled') && !retried;
}

/** A result that another program wrote may not be JSON. */
export function asEnded<Result>(task: TaskRecord): EndedTask<Result> {
  return { ...task, returned: parsedOrNothing(task.result) as Result | undefined };
}

function parsedOrNothing(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A topic or subscription whose tasks no worker serves. Both names are null for tasks without topic. */
export interface UnservedRoute {
  readonly topic: string | null;
  readonly subscriptionId: string | null;
  /** How long the task has waited that is due for longest. */
  readonly waitingMs: number;
}
