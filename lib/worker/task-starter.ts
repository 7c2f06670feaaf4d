import { reference, type QueueEvents } from '../events.js';
import type { ClaimedTask } from '../storage/attempt.js';
import type { Limit } from '../subscribers/handler-registry.js';
import type { Capacity } from './claiming/capacity.js';
import type { FanOut } from './fan-out.js';
import type { Executor } from './running/executor.js';
import type { RunningTask, RunningTasks } from './running/running-tasks.js';

export interface TaskStarterParts {
  readonly executor: Pick<Executor, 'run'>;
  readonly fanOut: Pick<FanOut, 'deliver'>;
  readonly running: RunningTasks;
  readonly capacity: Pick<Capacity, 'start' | 'end'>;
  readonly events: QueueEvents;
  /**
   * Called when a slot is free again.
   *
   * @param wasFull its limit when that was reached
   */
  readonly freed: (wasFull: Limit | undefined) => void;
}

/** Starts claimed attempts, one per slot, and publications together; frees their slots when they have ended. */
export class TaskStarter {
  readonly #parts: TaskStarterParts;

  constructor(parts: TaskStarterParts) {
    this.#parts = parts;
  }

  startAll(claimed: readonly ClaimedTask[]): void {
    const { executor, fanOut } = this.#parts;
    const publications: RunningTask[] = [];
    for (const one of claimed) {
      const running = this.#begin(one);
      if (one.publication && !one.task.dead) publications.push(running);
      else void executor.run(running).then(() => this.#end(running));
    }
    if (publications.length === 0) return;
    void fanOut
      .deliver(publications.map((running) => running.claimed))
      .finally(() => publications.forEach((running) => this.#end(running)));
  }

  #begin(claimed: ClaimedTask): RunningTask {
    const { running, capacity, events } = this.#parts;
    if (claimed.losses > 0) running.replace(claimed);
    capacity.start(claimed);
    if (events.has('task.claimed')) events.emit('task.claimed', { task: reference(claimed) });
    return running.begin(claimed);
  }

  #end(ended: RunningTask): void {
    const { running, capacity, freed } = this.#parts;
    running.end(ended);
    freed(capacity.end(ended.claimed));
  }
}
