import { setTimeout as pause } from 'node:timers/promises';
import { Backoff } from '../timing/backoff.js';
import { errorLink } from '../values/docs-link.js';
import { TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { StartPlace } from '../storage/start-problem.js';

/** What {@link StartAttempts} go by. */
export interface StartSettings {
  /** Name of the queue, for messages. */
  readonly queue: string;
  /** How long a server may take to be reached, from the first attempt on. */
  readonly connectRetryMs: number;
}

const firstPauseMs = 250;
const longestPauseMs = 5_000;

/**
 * What a start asks of a database: asked again while its server cannot be reached, and explained when it fails. All of
 * one start share the time that `connectRetryMs` gives.
 */
export class StartAttempts {
  readonly #settings: StartSettings;
  readonly #events: QueueEvents;
  readonly #signal: AbortSignal | undefined;
  #deadline: number | undefined;

  /** @param signal ends a wait: the start has failed elsewhere */
  constructor(settings: StartSettings, events: QueueEvents, signal?: AbortSignal) {
    this.#settings = settings;
    this.#events = events;
    this.#signal = signal;
  }

  /**
   * Runs work that may be run again.
   *
   * @throws {TarefaError} `DATABASE_UNREACHABLE` after `connectRetryMs`; `DATABASE_REFUSED`, `RIGHTS_MISSING` and what
   * else the work throws at once. Each says where, and names no password.
   */
  async run<T>(place: StartPlace, work: () => Promise<T>): Promise<T> {
    const backoff = new Backoff({ firstMs: firstPauseMs, mostMs: longestPauseMs });
    this.#deadline ??= performance.now() + this.#settings.connectRetryMs;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        const explained = explainStart(error, this.#settings.queue, place);
        const leftMs = this.#deadline - performance.now();
        if (!(explained instanceof Unreachable) || leftMs <= 0) throw explained;
        const pauseMs = Math.min(backoff.next(), leftMs);
        this.#events.emit('warning', {
          message: `${explained.said}; attempt ${attempt}, next attempt in ${seconds(pauseMs)}, giving up in ${seconds(leftMs)}`,
        });
        await pause(pauseMs, undefined, this.#signal && { signal: this.#signal }).catch(() => {
          throw explained;
        });
      }
    }
  }
}

/** Raised while a server may still come. */
class Unreachable extends TarefaError {
  constructor(
    message: string,
    /** The message in one line. */
    readonly said: string,
    options: ErrorOptions,
  ) {
    super('DATABASE_UNREACHABLE', message, options);
  }
}

/** Names the queue and its database in what went wrong at a start, and where to read more. */
function explainStart(error: unknown, queue: string, place: StartPlace): unknown {
  const where = place.description;
  const cause = error instanceof TarefaError && error.code === 'CONNECTION_LOST' ? error.cause : error;
  if (cause instanceof TarefaError) {
    if (!explainedCodes.has(cause.code)) return cause;
    const message = `${cause.message}\n${where}\nSee ${errorLink(cause.code)}`;
    return new TarefaError(cause.code, message, { cause: cause.cause ?? cause });
  }
  const problem = place.problemOf(cause);
  if (!problem) return error;
  const said = `the database of the queue '${queue}' cannot be used: ${problem.text}`;
  const message = `${said}\n${where}\n${problem.todo}\nSee ${errorLink(problem.code)}`;
  return problem.code === 'DATABASE_UNREACHABLE'
    ? new Unreachable(message, said, { cause })
    : new TarefaError(problem.code, message, { cause });
}

const explainedCodes: ReadonlySet<string> = new Set(['RIGHTS_MISSING', 'SCHEMA_MISSING', 'SCHEMA_CONFLICT']);

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
