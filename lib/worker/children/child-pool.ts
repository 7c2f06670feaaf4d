import { TarefaError } from '../../errors.js';
import type { QueueEvents } from '../../events.js';
import { processorsLeft, type PoolKind, type ResolvedIsolation } from '../../options/isolation-options.js';
import type { ResolvedOptions } from '../../options/resolve-options.js';
import type { HandlerRegistry, IsolatedHandler, Limit } from '../../subscribers/handler-registry.js';
import { Backoff } from '../../timing/backoff.js';
import { failureMessage } from '../../values/failure-text.js';
import { Child } from './child.js';
import type { ChildReady } from './messages.js';

export interface ChildPoolParts {
  readonly options: Pick<ResolvedOptions, 'isolation' | 'connection'>;
  /** Name of the queue in its application. */
  readonly queue: string;
  readonly registry: Pick<HandlerRegistry, 'isolated'>;
  readonly events: QueueEvents;
  /** There may be something to do: there is room that claims have left out. */
  readonly ring: () => void;
}

/** The option that says how many there are. */
const sizeOption = { thread: 'threads', process: 'processes' } as const;

/** Of each thread or process: what the application of one opens that has no worker. */
const mostConnections = { postgres: 2, mysql: 4 } as const;

/**
 * The threads or processes of isolated handlers: as many as the option says, started ahead of tasks, used again, and replaced when
 * they have ended.
 */
export class ChildPool implements Limit {
  readonly #kind: PoolKind;
  readonly #parts: ChildPoolParts;
  /** Also those that start or end: they count until nothing is left of them. */
  readonly #children = new Set<Child>();
  readonly #backoff = new Backoff({ firstMs: 250, mostMs: 10_000 });
  /** What they are made of; undefined until the first one has shown that they can be. */
  #isolation: ResolvedIsolation | undefined;
  #isFilling = false;
  #closed = false;

  constructor(kind: PoolKind, parts: ChildPoolParts) {
    this.#kind = kind;
    this.#parts = parts;
  }

  /** How many run attempts at most: in the place of one that starts or ends there is nobody yet. */
  get concurrency(): number {
    return [...this.#children].filter(({ isReady }) => isReady).length;
  }

  /** One that can run an attempt now; undefined when there is none. */
  get free(): Child | undefined {
    return [...this.#children].find(({ isFree }) => isFree);
  }

  get #size(): number {
    return this.#parts.options.isolation?.[sizeOption[this.#kind]] ?? 0;
  }

  /**
   * Starts the first child, to know that the module can be used, and then the others; without isolated handlers none.
   *
   * @throws {TarefaError} `OPTIONS_INVALID` when there is no module, it cannot be loaded or lacks a handler, or what its start raises
   */
  async start(): Promise<void> {
    const { registry, options } = this.#parts;
    const handlers = registry.isolated(this.#kind);
    if (handlers.length === 0) return;
    const isolation = isolationFor(handlers, options);
    const ready = await this.#add(isolation).ready;
    refuseMissing(handlers, ready, isolation);
    this.#report(ready);
    this.#isolation = isolation;
    void this.#fill();
  }

  /** Lets the applications of all children close, for so long, and ends them. Idempotent. */
  async close(mostMs: number): Promise<void> {
    this.#closed = true;
    this.#backoff.cancel();
    await Promise.all([...this.#children].map((child) => child.close(mostMs)));
  }

  #add(isolation: ResolvedIsolation): Child {
    const child = new Child(this.#kind, isolation, this.#parts.queue);
    this.#children.add(child);
    void child.gone.then(() => this.#forget(child));
    return child;
  }

  #forget(child: Child): void {
    this.#children.delete(child);
    void this.#fill();
  }

  /** Starts children until there are as many as there may be, one at a time: each keeps a processor busy. */
  async #fill(): Promise<void> {
    if (!this.#isolation || this.#isFilling) return;
    this.#isFilling = true;
    while (!this.#closed && this.#children.size < this.#size) await this.#boot(this.#isolation);
    this.#isFilling = false;
  }

  async #boot(isolation: ResolvedIsolation): Promise<void> {
    let child: Child | undefined;
    try {
      child = this.#add(isolation);
      await child.ready;
      this.#backoff.reset();
      this.#parts.ring();
    } catch (error) {
      child?.kill(error as Error);
      if (this.#closed) return;
      const why = failureMessage(error);
      this.#warn(`a ${this.#kind} of isolated handlers could not start and will be retried: ${why}`);
      await this.#backoff.wait();
    }
  }

  #report({ stoppedJobs }: ChildReady): void {
    const [kind, option, size] = [this.#kind, sizeOption[this.#kind], this.#size];
    const connections = size * mostConnections[this.#parts.options.connection.driver];
    this.#parts.events.emit('notice', {
      message: `isolated handlers run in up to ${size} ${option}, which open up to ${connections} connections to the database`,
    });
    if (size > processorsLeft) {
      this.#warn(
        `isolation.${option} is ${size}, but this machine has only ${processorsLeft} processors left for them: more than that take turns and slow ` +
          `down the event loop`,
      );
    }
    if (stoppedJobs.length === 0) return;
    this.#warn(
      `isolation.module imports jobs of @nestjs/schedule (${stoppedJobs.join(', ')}), which are stopped in each ${kind}: leave ` +
        `them out of that module`,
    );
  }

  #warn(message: string): void {
    this.#parts.events.emit('warning', { message });
  }
}

/** An isolated handler must not run on the event loop because an option is missing. */
export function isolationFor(
  handlers: readonly IsolatedHandler[],
  { isolation, connection }: ChildPoolParts['options'],
): ResolvedIsolation {
  const names = namesOf(handlers);
  if (!isolation) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      `${names} has isolate, but the options of QueueModule have no isolation: add isolation: { module: ` +
        `new URL('./tasks.thread.js', import.meta.url) }, the file of a module that provides the handler and imports the queue`,
    );
  }
  if (connection.address !== 'embedded') return isolation;
  throw new TarefaError(
    'OPTIONS_INVALID',
    `${names} has isolate, but connection is 'embedded', which other threads and processes cannot join: start that server with ` +
      `startEmbeddedPostgres() and pass its url, or leave out isolate`,
  );
}

/** @throws {TarefaError} `OPTIONS_INVALID` when the module lacks a handler */
export function refuseMissing(
  handlers: readonly IsolatedHandler[],
  { handlers: found }: ChildReady,
  { module }: ResolvedIsolation,
): void {
  const missing = handlers.filter(({ serves }) => !found.includes(serves));
  if (missing.length === 0) return;
  throw new TarefaError(
    'OPTIONS_INVALID',
    `isolation.module (${module.href}) has no isolated handler ${namesOf(missing)}: import the modules that provide them ` +
      `there, or leave out their isolate`,
  );
}

export function namesOf(handlers: readonly IsolatedHandler[]): string {
  return handlers.map(({ name }) => name).join(', ');
}
