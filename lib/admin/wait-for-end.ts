import type { TaskAdmin } from '../storage/admin.js';
import { TarefaError } from '../errors.js';
import { shownValue } from '../values/shown-value.js';
import { longestWaitMs, readDuration, readOptions } from './admin-input.js';
import { asEnded, isRetriable, type EndedTask } from './task-answers.js';
import { findAttempts } from './task-attempts.js';
import type { TaskWaiter } from './task-waiter.js';

/** How to wait for the end of a task. */
export interface WaitOptions {
  /** How long to wait, at most 24 days. Default 30 s. */
  readonly timeoutMs?: number | undefined;
  /**
   * Called with the message of the running attempt, which `ctx.progress` writes, whenever it has changed: it is looked at once a
   * second. What it throws, the wait rejects with.
   */
  readonly onProgress?: ((message: string) => void | Promise<void>) | undefined;
}

/** How often progress is looked at. */
const progressMs = 1_000;

/** Resolves with the last attempt once a task has ended. */
export async function waitForEnd<Result>(
  tasks: TaskAdmin,
  waiter: TaskWaiter,
  id: string,
  options: WaitOptions,
): Promise<EndedTask<Result>> {
  const { timeoutMs: given = 30_000, onProgress } = readOptions(options, ['timeoutMs', 'onProgress']);
  const timeoutMs = readDuration('timeoutMs', given, longestWaitMs);
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw new TarefaError('INPUT_INVALID', `onProgress must be a function, not ${shownValue(onProgress)}`);
  }
  const { firstAttemptId } = (await findAttempts(tasks, id)).current;
  let told: string | null = null;
  const look = async (): Promise<EndedTask<Result> | undefined> => {
    const { current } = await findAttempts(tasks, firstAttemptId, true);
    const { status, message, cancelledBy } = current;
    if (status === 'succeeded' || isRetriable(current)) return asEnded<Result>(current);
    const isProgress = status === 'processing' && cancelledBy === null && message !== null;
    if (isProgress && message !== told) await onProgress?.(message);
    told = message;
    return undefined;
  };
  return waiter.wait(firstAttemptId, timeoutMs, look, onProgress && progressMs);
}
