import type { QueueEvents, TaskReference } from '../events.js';
import type { AwaitedEnd, Bell } from './bell.js';

// A process that waits for a task's end says so on one topic; the worker that ends it answers on another. So ends that
// are not waited for cost nothing.

/** The longest time that a process may wait without saying so again. */
const longestWaitMs = 60_000;
/** Whoever can ring can say that it waits: what was said first is forgotten, and its process looks by itself. */
const mostAwaited = 10_000;

/** Rings for the ends of tasks that some process waits for, when this process ends them. */
export class EndAnnouncer {
  readonly #events: QueueEvents;
  readonly #bell: Pick<Bell, 'ring'>;
  /** Until when a process waits, by first attempt; who has just said so stands last. */
  readonly #awaited = new Map<string, number>();
  #stopListening: (() => void)[] = [];

  constructor(events: QueueEvents, bell: Pick<Bell, 'ring'>) {
    this.#events = events;
    this.#bell = bell;
  }

  /** Some process waits. */
  expect({ firstAttemptId, forMs }: AwaitedEnd): void {
    this.#awaited.delete(firstAttemptId);
    this.#awaited.set(firstAttemptId, performance.now() + Math.min(longestWaitMs, forMs));
    const [first] = this.#awaited.keys();
    if (first !== undefined && this.#awaited.size > mostAwaited) this.#awaited.delete(first);
    if (this.#stopListening.length === 0) this.#listen();
  }

  /** Events of tasks cost something while there is a listener: only then. */
  #listen(): void {
    const ended = ({ task }: { task: TaskReference }): void => this.#ended(task.firstAttemptId);
    this.#stopListening = [
      this.#events.on('task.completed', ended),
      this.#events.on('publication.delivered', ended),
      this.#events.on('task.cancelled', ended),
      this.#events.on('task.failed', (failed) => {
        if (failed.nextAttemptInMs === undefined) ended(failed);
      }),
    ];
  }

  #ended(firstAttemptId: string): void {
    // The waiting process looks again, should this be lost.
    if (this.#awaited.delete(firstAttemptId)) void this.#bell.ring('ends', firstAttemptId);
    const now = performance.now();
    // Each task that ends looks at the first ones only: there may be many.
    for (const [id, until] of this.#awaited) {
      if (until >= now) break;
      this.#awaited.delete(id);
    }
    if (this.#awaited.size > 0) return;
    for (const stop of this.#stopListening.splice(0)) stop();
  }
}
