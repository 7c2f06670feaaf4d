import type { QueueEvents } from '../events.js';
import { unprovidedClasses } from '../subscribers/decorated-classes.js';

/**
 * After the start `main.ts` may still call `enableShutdownHooks()`, and a second application of the process provide its
 * own classes.
 */
const afterMs = 5_000;
const shutdownSignals = ['SIGTERM', 'SIGINT'] as const;

/**
 * Warns, a moment after the start, of what an application has forgotten: shutdown hooks, and classes with handlers that no
 * module provides. Both are seen from outside: whether this process listens to its signals, and which classes
 * were decorated. Tests start applications without either on purpose, so nothing is said where `NODE_ENV` is `test`.
 */
export class StartChecks {
  /** Name of the queue. */
  readonly #name: string;
  readonly #events: QueueEvents;
  /** False once the worker has stopped, or before it has started. */
  readonly #isRunning: () => boolean;
  #timer: NodeJS.Timeout | undefined;
  #hasCheckedClasses = false;

  constructor(name: string, events: QueueEvents, isRunning: () => boolean) {
    this.#name = name;
    this.#events = events;
    this.#isRunning = isRunning;
  }

  /** At the start of the application, and again at that of a worker which starts later. */
  start(): void {
    clearTimeout(this.#timer);
    if (process.env['NODE_ENV'] === 'test') return;
    this.#timer = setTimeout(() => this.#check(), afterMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #check(): void {
    if (this.#isRunning() && shutdownSignals.every((signal) => process.listenerCount(signal) === 0)) {
      this.#events.emit('warning', {
        message:
          `nothing in this process handles SIGTERM or SIGINT, so running tasks will be cut off when it is stopped and ` +
          `retried later. Call app.enableShutdownHooks() in main.ts, so that the worker finishes them first`,
      });
    }
    if (this.#hasCheckedClasses) return;
    this.#hasCheckedClasses = true;
    const classes = unprovidedClasses(this.#name);
    if (classes.length > 0) {
      this.#events.emit('warning', {
        message:
          `no module of this application provides ${classes.join(', ')}, so their decorated methods are never called: add ` +
          `the missing classes to the providers of a module, or do not import them here`,
      });
    }
  }
}
