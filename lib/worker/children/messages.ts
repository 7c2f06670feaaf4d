import type { ClaimedTask, WorkerId } from '../../storage/attempt.js';
import type { ServerSession } from '../../storage/transactions.js';
import type { Task } from '../../task.js';
import type { RecordedReturn } from '../running/handler-context.js';
import type { RunEnd } from '../running/run-handler.js';
import type { SerializedError } from './serialized-error.js';

/** What a child is told. */
export type ChildOrder =
  /** Makes the application of the module in that file; its queue has that name. */
  | { readonly type: 'boot'; readonly module: string; readonly queue: string }
  | RunOrder
  /** The attempt is to stop: its signal aborts. */
  | { readonly type: 'abort'; readonly reason: SerializedError }
  /** It is to close its application and end. */
  | { readonly type: 'close' };

/** Runs one attempt, which that worker holds. */
export interface RunOrder {
  readonly type: 'run';
  readonly workerId: WorkerId;
  readonly claimed: ClaimedTask;
  /** True where its transaction is to ring for nobody. */
  readonly quiet?: boolean | undefined;
}

/** What a child tells. */
export type ChildReport =
  | ChildReady
  /** Its application could not be made. */
  | { readonly type: 'refused'; readonly error: SerializedError }
  /** Where the attempt's transaction runs, for when the child cannot end it. */
  | { readonly type: 'opened'; readonly session: ServerSession }
  /** What the handler says of its progress. */
  | { readonly type: 'progress'; readonly message: string }
  /** The handler has finished its task inside a transaction of its own, and may go on with something else. */
  | { readonly type: 'completed'; readonly recorded: RecordedReturn }
  | { readonly type: 'ended'; readonly end: SerializedEnd };

/** What a detached process is to run: its parent's attempt, in the application of the module in that file. */
export interface DetachedOrder {
  readonly module: string;
  /** Name of the queue in its application. */
  readonly queue: string;
  /** The worker that holds the attempt. */
  readonly parent: WorkerId;
  readonly claimed: ClaimedTask;
  /** The file that the output of the process goes to. */
  readonly output: string;
}

/** What a detached process tells its parent, until it has the attempt. */
export type DetachedReport =
  /** It has a worker of its own, which is about to take the attempt over. */
  | { readonly type: 'registered'; readonly workerId: WorkerId }
  | { readonly type: 'taken over' }
  /** The attempt is its parent's no longer, or was cancelled. */
  | { readonly type: 'came late' }
  /** Its application could not be made. */
  | { readonly type: 'refused'; readonly error: SerializedError };

/** Its application is there. */
export interface ChildReady {
  readonly type: 'ready';
  /** What its isolated handlers serve. */
  readonly handlers: readonly string[];
  /** Jobs of `@nestjs/schedule` that were stopped there. */
  readonly stoppedJobs: readonly string[];
}

/** How a handler ended in a child: a {@link RunEnd} that can be sent. */
export type SerializedEnd =
  | Extract<RunEnd, { kind: 'succeeded' | 'committed' | 'undone' }>
  | (Omit<Extract<RunEnd, { kind: 'failed' }>, 'error'> & { readonly error: SerializedError })
  | (Omit<Extract<RunEnd, { kind: 'unknown' }>, 'error'> & { readonly error: SerializedError });

/** A claim as it can be sent: the task of a row has getters, which get lost on the way. */
export function sendable(claimed: ClaimedTask): ClaimedTask {
  const { task } = claimed;
  const sent: { readonly [Field in keyof Task]: Task[Field] } = {
    id: task.id,
    firstAttemptId: task.firstAttemptId,
    key: task.key,
    attempt: task.attempt,
    topic: task.topic,
    origin: task.origin,
    destination: task.destination,
    externalKey: task.externalKey,
    tenant: task.tenant,
    group: task.group,
    priority: task.priority,
    dueAt: task.dueAt,
    firstDueAt: task.firstDueAt,
    publicationId: task.publicationId,
    subscriptionId: task.subscriptionId,
    dead: task.dead,
    liveId: task.liveId,
    metadata: task.metadata,
  };
  return { ...claimed, task: sent };
}
