import { TarefaError } from '../../errors.js';
import type { QueueEvents } from '../../events.js';
import {
  connectionsPerChild,
  processorsLeft,
  type IsolateKind,
  type ResolvedIsolation,
} from '../../options/isolation-options.js';
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
  readonly events: QueueEvents;
  /** There may be something to do: there is room again that claims have left out. */
  readonly ring: () => void;
}

/** The children of each kind. */
export type ChildPools = Readonly<Record<IsolateKind, ChildPool>>;

/** The option that says how many there are. */
const sizeOption = { thread: 'threads', process: 'processes' } as const;

type Take = (child: Child | undefined) => void;

/**
 * The threads or processes of isolated handlers: never more than the option says, started when they are needed, used again, and
 * replaced when they have ended.
 */
export class ChildPool implements Limit {
  readonly #kind: IsolateKind;
  readonly #parts: ChildPoolParts;
  /** Also those that are ending: they count until nothing is left of them. */
  readonly #children = new Set<Child>();
  readonly #free = new Set<Child>();
  readonly #waiting = new Set<Take>();
  readonly #backoff = new Backoff({ firstMs: 250, mostMs: 10_000 });
  /** True while an application is being made, or has failed and is about to be tried again: one at a time. */
  #isBooting = false;
  #closed = false;

  constructor(kind: IsolateKind, parts: ChildPoolParts) {
    this.#kind = kind;
    this.#parts = parts;
  }

  /** How many run attempts at most: in the place of one that is ending there is nobody yet. */
  get concurrency(): number {
    return this.#size - [...this.#children].filter(({ isEnding }) => isEnding).length;
  }

  get #size(): number {
    return this.#parts.options.isolation?.[sizeOption[this.#kind]] ?? 0;
  }

  /**
   * Starts one child, to know that the module can be used; without isolated handlers none.
   *
   * @throws {TarefaError} `OPTIONS_INVALID` when there is no module, it cannot be loaded or lacks a handler, or what its start raises
   */
  async start(registry: Pick<HandlerRegistry, 'isolated'>): Promise<void> {
    const handlers = registry.isolated(this.#kind);
    if (handlers.length === 0) return;
    const isolation = this.#isolationFor(handlers);
    const child = this.#add(isolation);
    const ready = await child.ready;
    refuseMissing(handlers, ready, isolation);
    this.#report(ready);
    this.#serve(child);
  }

  /** Resolves with a child for one run; with undefined when the signal aborts first. */
  async take(signal: AbortSignal): Promise<Child | undefined> {
    if (signal.aborted || this.#closed) return undefined;
    for (const free of this.#free) {
      this.#free.delete(free);
      if (!free.isEnding) return free;
    }
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      const leave = (): void => {
        if (this.#waiting.delete(resolve)) resolve(undefined);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#grow();
    });
  }

  /** The run has ended. */
  giveBack(child: Child): void {
    if (!child.isEnding) this.#serve(child);
  }

  /** Lets the applications of all children close, for so long, and ends them. Idempotent. */
  async close(mostMs: number): Promise<void> {
    this.#closed = true;
    this.#backoff.cancel();
    for (const take of this.#waiting) take(undefined);
    this.#waiting.clear();
    await Promise.all([...this.#children].map((child) => child.close(mostMs)));
  }

  /** An isolated handler must not run on the event loop because an option is missing. */
  #isolationFor(handlers: readonly IsolatedHandler[]): ResolvedIsolation {
    const { isolation, connection } = this.#parts.options;
    const names = namesOf(handlers);
    if (!isolation) {
      throw new TarefaError(
        'OPTIONS_INVALID',
        `${names} has isolate, and the options of QueueModule have no isolation: give isolation: { module: ` +
          `new URL('./tasks.thread.js', import.meta.url) }, the file of a module that provides it and imports the queue`,
      );
    }
    if (connection.address !== 'embedded') return isolation;
    throw new TarefaError(
      'OPTIONS_INVALID',
      `${names} has isolate, and connection is 'embedded', which others cannot join: start that server by ` +
        `startEmbeddedPostgres() and give its url, or leave out isolate`,
    );
  }

  #add(isolation: ResolvedIsolation): Child {
    const child = new Child(this.#kind, isolation, this.#parts.queue);
    this.#children.add(child);
    void child.gone.then(() => this.#forget(child));
    return child;
  }

  #forget(child: Child): void {
    this.#children.delete(child);
    this.#free.delete(child);
    if (this.#closed) return;
    this.#grow();
    this.#parts.ring();
  }

  /** Starts a child for those who wait. */
  #grow(): void {
    const { isolation } = this.#parts.options;
    if (this.#closed || this.#isBooting || !isolation) return;
    if (this.#waiting.size > 0 && this.#children.size < this.#size) void this.#boot(isolation);
  }

  async #boot(isolation: ResolvedIsolation): Promise<void> {
    this.#isBooting = true;
    const child = this.#add(isolation);
    try {
      await child.ready;
      this.#backoff.reset();
      this.#serve(child);
    } catch (error) {
      child.kill(error as Error);
      if (!this.#closed)
        this.#warn(
          `a ${this.#kind} of isolated handlers could not start, and is tried again: ${failureMessage(error)}`,
        );
      await this.#backoff.wait();
    }
    this.#isBooting = false;
    this.#grow();
  }

  /** Whoever waits longest gets it. */
  #serve(child: Child): void {
    const [first] = this.#waiting;
    if (!first) return void this.#free.add(child);
    this.#waiting.delete(first);
    first(child);
  }

  #report({ stoppedJobs }: ChildReady): void {
    const [kind, option, size] = [this.#kind, sizeOption[this.#kind], this.#size];
    this.#parts.events.emit('notice', {
      message: `isolated handlers run in up to ${size} ${option}, each with up to ${connectionsPerChild} connections`,
    });
    if (size > processorsLeft) {
      this.#warn(
        `isolation.${option} is ${size}, and this machine leaves ${processorsLeft} processors to them: more take turns, and slow ` +
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

function refuseMissing(
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

function namesOf(handlers: readonly IsolatedHandler[]): string {
  return handlers.map(({ name }) => name).join(', ');
}
