import { TarefaError } from '../../errors.js';
import { reference, type QueueEvents } from '../../events.js';
import type { ClaimedTask } from '../../storage/attempt.js';
import type { Limit } from '../../subscribers/handler-registry.js';
import type { Signal } from '../../timing/signal.js';
import type { RouteMap } from '../claiming/route-map.js';
import type { Capacity } from '../claiming/routes.js';
import type { RecordedReturn } from './handler-context.js';

/** What tells the handler of an attempt to stop, wherever it runs. */
export interface RunningContext {
  /** Why it is to stop; undefined while it may go on. */
  readonly aborted: Error | undefined;
  /** What the handler finished the task with inside a transaction of its own; undefined when it did not. */
  readonly completedElsewhere: RecordedReturn | undefined;
  /** Tells the handler to stop. */
  abort(reason: Error): void;
  /** Ends the handler's work, whether it stops or not. */
  destroy(reason: Error): void;
}

/** What aborting a running attempt needs. */
export interface RunningTask {
  readonly claimed: ClaimedTask;
  context: RunningContext | undefined;
  /** True since another row was claimed here under its id: its end is no longer that row's. */
  isReplaced: boolean;
}

/** A worker's own record of the attempts that it runs. */
export class RunningTasks {
  readonly #byId = new Map<string, RunningTask>();
  #onEnd: (() => void) | undefined;
  #begun = 0;
  /** Undefined until somebody takes them. */
  #ended: RunningTask[] | undefined;

  /** How many have begun so far. */
  get begun(): number {
    return this.#begun;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** True while an attempt of that id runs here, under any claim. */
  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** True while exactly this claim of it runs. */
  includes(running: RunningTask): boolean {
    return this.#byId.get(running.claimed.id) === running;
  }

  all(): readonly RunningTask[] {
    return [...this.#byId.values()];
  }

  ids(): Iterable<string> {
    return this.#byId.keys();
  }

  /**
   * What runs here under the same id is of another row: its own was deleted, as by a table that was emptied, or given back by
   * hand. It must end nothing of the new one, whose claim may look the same.
   */
  begin(claimed: ClaimedTask): RunningTask {
    const before = this.#byId.get(claimed.id);
    if (before) {
      before.isReplaced = true;
      before.context?.destroy(
        new TarefaError('TASK_LOST', `the row of attempt ${claimed.id} was replaced while it ran`),
      );
    }
    const running: RunningTask = { claimed, context: undefined, isReplaced: false };
    this.#byId.set(claimed.id, running);
    this.#begun += 1;
    return running;
  }

  /**
   * A worker that was taken for lost, and is back, may get the next attempt of a task before it has noticed: then the
   * older one is told to stop first.
   */
  replace({ task }: ClaimedTask): void {
    for (const { claimed, context } of this.#byId.values()) {
      if (claimed.task.firstAttemptId !== task.firstAttemptId) continue;
      context?.destroy(
        new TarefaError(
          'TASK_LOST',
          `attempt ${claimed.id} was considered lost: attempt ${task.id} replaces it`,
        ),
      );
    }
  }

  /** What has ended since the last call; the first one answers nothing. */
  takeEnded(): readonly RunningTask[] {
    const ended = this.#ended ?? [];
    this.#ended = [];
    return ended;
  }

  end(running: RunningTask): void {
    this.#ended?.push(running);
    // Given back by hand, it may have been claimed here again meanwhile.
    if (this.includes(running)) this.#byId.delete(running.claimed.id);
    this.#onEnd?.();
  }

  /** Resolves when no attempt runs. */
  async idle(): Promise<void> {
    while (this.#byId.size > 0) await new Promise<void>((resolve) => (this.#onEnd = resolve));
  }

  /** Tells every handler to stop. */
  abort(reason: Error): void {
    for (const { context } of this.#byId.values()) context?.abort(reason);
  }

  /** Cuts the transactions of handlers that do not end, so that none can commit after we have left. */
  abandon(reason: Error): void {
    for (const { context } of this.#byId.values()) context?.destroy(reason);
  }
}

export interface TaskStarterParts {
  /** Resolves when the slot is free again. */
  readonly executor: { run(running: RunningTask): Promise<void> };
  readonly fanOut: { deliver(publications: readonly ClaimedTask[]): Promise<void> };
  readonly running: RunningTasks;
  readonly capacity: Pick<Capacity, 'start' | 'end'>;
  readonly map: Pick<RouteMap, 'freed'>;
  readonly claimer: { expect(): void };
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
    const publications: (readonly [RunningTask, Limit | undefined])[] = [];
    for (const one of claimed) {
      if (one.losses > 0) tasks.replace(one);
      const limit = capacity.start(one);
      if (events.has('task.claimed')) events.emit('task.claimed', { task: reference(one) });
      const running = tasks.begin(one);
      if (one.publication && !one.task.dead) publications.push([running, limit]);
      else void executor.run(running).then(() => this.#end(running, limit));
    }
    if (publications.length === 0) return;
    void fanOut.deliver(publications.map(([running]) => running.claimed)).finally(() => {
      for (const [running, limit] of publications) this.#end(running, limit);
    });
  }

  #end(ended: RunningTask, limit: Limit | undefined): void {
    const { running, capacity, map, claimer, signal } = this.#parts;
    running.end(ended);
    if (capacity.end(limit) && limit) {
      // Earlier claims left its other tasks out.
      map.freed(limit);
      claimer.expect();
    }
    signal.set();
  }
}
