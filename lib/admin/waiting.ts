import { namesOfRoute } from '../storage/route.js';
import { unservedMs, type WaitingRoute } from '../storage/waiting-route.js';
import type { UnservedRoute } from './task-answers.js';

/** True when a task that somebody could run has been due for longer than that. */
export function hasWaited(waiting: readonly WaitingRoute[], olderThanMs: number): boolean {
  return waiting.some(
    ({ served, workerless, waitingMs }) => (served || workerless) && waitingMs > olderThanMs,
  );
}

/** Those that no running worker serves, once that has lasted. */
export function unservedOf(waiting: readonly WaitingRoute[]): readonly UnservedRoute[] {
  return waiting
    .filter(({ served, waitingMs }) => !served && waitingMs >= unservedMs)
    .map(({ route, waitingMs }) => ({ ...namesOfRoute(route), waitingMs: Math.round(waitingMs) }));
}
