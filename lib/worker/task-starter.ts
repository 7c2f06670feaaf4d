import { reference, type QueueEvents } from '../events.js';
import type { ClaimedTask } from '../storage/attempt.js';
import type { Signal } from '../timing/signal.js';
import type { Capacity } from './claiming/routes.js';
import type { Claimer } from './claiming/claimer.js';
import type { RouteMap } from './claiming/route-map.js';
import type { FanOut } from './fan-out.js';
import type { Executor } from './running/executor.js';
import type { RunningTask, RunningTasks } from './running/running-tasks.js';

export interface TaskStarterParts {
  readonly executor: Pick<Executor, 'run'>;
  readonly fanOut: Pick<FanOut, 'deliver'>;
  readonly running: RunningTasks;
  readonly capacity: Pick<Capacity, 'start' | 'end'>;
  readonly map: Pick<RouteMap, 'freed'>;
  readonly claimer: Pick<Claimer, 'expect'>;
  /** Set when a slot is free again. */
  readonly signal: Signal;
  readonly events: QueueEvents;
}

/** Starts claimed attempts, one per slot, and publications together; frees their slots when they have ended. */
export class TaskStarter {
  readonly #parts: TaskStarterParts;

  constructor(parts: TaskStarterParts) {
    this.#parts = parts;
  }

  startAll(claimed: readonly ClaimedTask[]): void {
    const { executor, fanOut, running: tasks, capacity, events } = this.#parts;
    const publications: RunningTask[] = [];
    for (const one of claimed) {
      if (one.losses > 0) tasks.replace(one);
      capacity.start(one);
      if (events.has('task.claimed')) events.emit('task.claimed', { task: reference(one) });
      const running = tasks.begin(one);
      if (one.publication && !one.task.dead) publications.push(running);
      else void executor.run(running).then(() => this.#end(running));
    }
    if (publications.length === 0) return;
    void fanOut
      .deliver(publications.map((running) => running.claimed))
      .finally(() => publications.forEach((running) => this.#end(running)));
  }

  #end(ended: RunningTask): void {
    const { running, capacity, map, claimer, signal } = this.#parts;
    running.end(ended);
    const wasFull = capacity.end(ended.claimed);
    if (wasFull) {
      // Earlier claims left its other tasks out.
      map.freed(wasFull);
      claimer.expect();
    }
    signal.set();
  }
}
