import type { QueueEvents, TaskReference } from '../events.js';

// Who waits for a task's end says so on one channel; the worker that ends it answers on another. So nobody pays for ends
// that nobody waits for.

/** The longest time that somebody may wait without saying so again. */
const longestWaitMs = 60_000;

/** Tells of the tasks that somebody waits for when this process ends them. */
export class EndTeller {
  readonly #events: QueueEvents;
  readonly #tell: (firstAttemptId: string) => void;
  /** Until when somebody waits, by first attempt. */
  readonly #awaited = new Map<string, number>();
  #stopListening: (() => void)[] = [];

  constructor(events: QueueEvents, tell: (firstAttemptId: string) => void) {
    this.#events = events;
    this.#tell = tell;
  }

  /** Somebody waits: `<id> <ms>`. */
  asked(text: string): void {
    const [, id, ms] = /^(\d+) (\d+)$/.exec(text) ?? [];
    if (id === undefined || ms === undefined) return;
    this.#awaited.set(id, performance.now() + Math.min(longestWaitMs, Number(ms)));
    if (this.#stopListening.length === 0) this.#listen();
  }

  /** Ends are events of tasks, which cost something while somebody listens: only then. */
  #listen(): void {
    const ended = ({ task }: { task: TaskReference }): void => this.#ended(task.firstAttemptId);
    this.#stopListening = [
      this.#events.on('task.completed', ended),
      this.#events.on('publication.delivered', ended),
      this.#events.on('task.failed', (failed) => {
        if (failed.nextAttemptInMs === undefined) ended(failed);
      }),
    ];
  }

  #ended(firstAttemptId: string): void {
    if (this.#awaited.delete(firstAttemptId)) this.#tell(firstAttemptId);
    const now = performance.now();
    for (const [id, until] of this.#awaited) if (until < now) this.#awaited.delete(id);
    if (this.#awaited.size > 0) return;
    for (const stop of this.#stopListening.splice(0)) stop();
  }
}
