import { CoordinationServer, type CoordinationServerParts } from '../coordination/tcp/coordination-server.js';
import { TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import { errorText } from '../observability/error-text.js';
import { isLoopback, type ResolvedServerOptions } from '../options/server-options.js';
import type { QueueReports } from '../storage/reports.js';

export interface ServerBasis {
  readonly reports: Pick<QueueReports, 'waitingRoutes' | 'workers'>;
  /** Whether this process has a worker that locks nothing here, and may not have begun. */
  readonly worker: boolean;
  /** The queue table with its schema or database. */
  readonly queue: string;
  readonly events: QueueEvents;
}

/**
 * Makes this process the server of nsj-queue-lib's client-server mode. Returns how it stops being that.
 *
 * @throws {TarefaError} `OPTIONS_INVALID` where it cannot have its ports
 */
export async function openServer(
  { checkIntervalMs, ...options }: ResolvedServerOptions,
  { queue, ...basis }: ServerBasis,
): Promise<() => Promise<void>> {
  const { reports, events } = basis;
  const own = new OwnWorkers(basis);
  const server = await start({ ...options, queue, mayLock: (joined) => own.areNone(joined) }, events);
  const { host } = options;
  events.emit('notice', {
    message: `the server of the client-server mode listens on ${host}: port ${server.notifyPort} for workers, port ${server.lockPort} for locks and rings`,
  });
  if (!isLoopback(host)) {
    events.emit('warning', {
      message: `the server of the client-server mode listens on ${host}, and its protocol has neither authentication nor encryption: allow only workers to reach its ports`,
    });
  }
  const look = new DueLook(reports, events, checkIntervalMs, () => server.wake());
  return async () => {
    // Its workers need not wait for what the database may be slow to answer.
    const looked = look.stop();
    await server.close();
    await looked;
  };
}

async function start(
  options: Omit<CoordinationServerParts, 'report'>,
  events: QueueEvents,
): Promise<CoordinationServer> {
  const report = (message: string): void =>
    events.emit('warning', { message: `client-server mode: ${message}` });
  try {
    return await CoordinationServer.start({ ...options, report });
  } catch (cause) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      `the server of the client-server mode cannot listen: ${errorText(cause)}. ${remedyFor(cause, options)}`,
      { cause },
    );
  }
}

function remedyFor(
  error: unknown,
  { host, notifyPort, lockPort }: Pick<CoordinationServerParts, 'host' | 'notifyPort' | 'lockPort'>,
): string {
  return (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    ? `Is another server already running here? Free the ports ${notifyPort} and ${lockPort}, or set server.notifyPort and server.lockPort`
    : `Set server.host (${host}) to an address of this computer, and use ports that its user may bind`;
}

/** A worker whose session is missing may be connecting again, and still runs its tasks. */
const missingMs = 30_000;

/**
 * Workers of this library on the queue. Those that have not joined keep no locks here, and do not see those of workers of
 * nsj-queue-lib, so that both would run the same tasks.
 */
class OwnWorkers {
  readonly #parts: Omit<ServerBasis, 'queue'>;
  /** What was told last. */
  #refusal: string | undefined;
  /** The look under way: those who ask meanwhile share it. */
  #look: Promise<boolean> | undefined;
  /** When each worker of the last look was seen with its session, or first seen. */
  #seenAt: ReadonlyMap<string, number> = new Map();

  constructor(parts: Omit<ServerBasis, 'queue'>) {
    this.#parts = parts;
  }

  /** Asked by who wants a lock. */
  areNone(joined: ReadonlySet<string>): Promise<boolean> {
    this.#look ??= this.#tell(joined).finally(() => {
      this.#look = undefined;
    });
    return this.#look;
  }

  /** Tells when that changes what they get. */
  async #tell(joined: ReadonlySet<string>): Promise<boolean> {
    const { events } = this.#parts;
    const refusal = await this.#find(joined);
    const before = this.#refusal;
    this.#refusal = refusal;
    if (refusal !== undefined && before === undefined) {
      events.emit('warning', {
        message:
          `the server grants no locks to workers of nsj-queue-lib: ${refusal}. A worker that takes no locks here would run the same tasks as they do: ` +
          `give it interop: 'nsj' and CLIENT_SERVER_MODE=TRUE, or stop one kind of worker. A process that only serves has worker: false`,
      });
    } else if (refusal === undefined && before !== undefined) {
      events.emit('notice', { message: 'the server grants locks to workers of nsj-queue-lib again' });
    }
    return refusal === undefined;
  }

  async #find(joined: ReadonlySet<string>): Promise<string | undefined> {
    const { reports, worker } = this.#parts;
    if (worker) return 'this process has a worker of the queue';
    try {
      const workers = await reports.workers();
      const now = performance.now();
      const before = this.#seenAt;
      const seenAt = (id: string): number => before.get(id) ?? now;
      this.#seenAt = new Map(workers.map(({ id, alive }) => [id, alive === false ? seenAt(id) : now]));
      const living = workers.find(
        ({ id }) => !joined.has(id) && now - (this.#seenAt.get(id) ?? now) < missingMs,
      );
      return living && `process ${living.pid} on ${living.host} has a worker of the queue (${living.id})`;
    } catch (error) {
      return `it is unknown whether the queue has other workers (${errorText(error)})`;
    }
  }
}

/** Looks for due tasks again and again: those that plain SQL inserted, for which nobody rings. */
class DueLook {
  readonly #reports: ServerBasis['reports'];
  readonly #events: ServerBasis['events'];
  readonly #everyMs: number;
  /** Told each time that some tasks are due. */
  readonly #due: () => void;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void>;
  #isStopped = false;
  #isFailing = false;

  constructor(
    reports: ServerBasis['reports'],
    events: ServerBasis['events'],
    everyMs: number,
    due: () => void,
  ) {
    this.#reports = reports;
    this.#events = events;
    this.#everyMs = everyMs;
    this.#due = due;
    this.#looking = this.#look();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    try {
      if ((await this.#reports.waitingRoutes()).length > 0) this.#due();
      if (this.#isFailing)
        this.#events.emit('notice', { message: 'the server can look for due tasks again' });
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing && !this.#isStopped) {
        this.#events.emit('warning', {
          message: `the server cannot look for due tasks and is retrying every ${this.#everyMs} ms: ${errorText(error)}`,
        });
      }
      this.#isFailing = true;
    }
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look();
    }, this.#everyMs);
  }
}
