import type { TaskContext } from '../task.js';

/** Runs around every handler of a queue; `next` runs the handler, and its answer is to be returned. */
export type WrapHandler = (next: () => Promise<unknown>, ctx: TaskContext) => unknown;
