import { CoordinationServer } from '../coordination/tcp/coordination-server.js';
import { TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import { errorText } from '../observability/error-text.js';
import { isLoopback, type ResolvedServerOptions } from '../options/server-options.js';
import type { QueueReports } from '../storage/reports.js';

export interface ServerBasis {
  readonly reports: Pick<QueueReports, 'waitingRoutes'>;
  /** The queue table with its schema or database. */
  readonly queue: string;
  readonly events: QueueEvents;
}

interface DueLookParts extends Pick<ServerBasis, 'reports' | 'events'> {
  readonly everyMs: number;
  /** Told each time that some tasks are due. */
  readonly due: () => void;
}

/**
 * Makes this process the server of nsj-queue-lib's client-server mode. Answers how it stops being that.
 *
 * @throws {TarefaError} `OPTIONS_INVALID` where it cannot have its ports
 */
export async function openServer(
  { checkTasksMs, ...options }: ResolvedServerOptions,
  { reports, queue, events }: ServerBasis,
): Promise<() => Promise<void>> {
  const server = await start(options, queue, events);
  const { host } = options;
  events.emit('notice', {
    message: `the server of the client-server mode listens on ${host}: port ${server.notifyPort} for workers, port ${server.lockPort} for locks and rings`,
  });
  if (!isLoopback(host)) {
    events.emit('warning', {
      message: `the server of the client-server mode listens on ${host}, and its wire has neither authentication nor encryption: let only workers reach its ports`,
    });
  }
  const look = new DueLook({ reports, everyMs: checkTasksMs, due: () => server.wake(), events });
  return async () => {
    await look.stop();
    await server.close();
  };
}

async function start(
  options: Omit<ResolvedServerOptions, 'checkTasksMs'>,
  queue: string,
  events: QueueEvents,
): Promise<CoordinationServer> {
  const report = (message: string): void =>
    events.emit('warning', { message: `client-server mode: ${message}` });
  try {
    return await CoordinationServer.start({ ...options, queue, report });
  } catch (cause) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      `the server of the client-server mode cannot listen (${errorText(cause)}): is another one running here? Free the ports ` +
        `${options.notifyPort} and ${options.lockPort}, or set server.notifyPort and server.lockPort`,
      { cause },
    );
  }
}

/** Looks for due tasks again and again: those that plain SQL inserted, for which nobody rings. */
class DueLook {
  readonly #parts: DueLookParts;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void>;
  #isStopped = false;
  #isFailing = false;

  constructor(parts: DueLookParts) {
    this.#parts = parts;
    this.#looking = this.#look();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { reports, everyMs, due, events } = this.#parts;
    try {
      if ((await reports.waitingRoutes()).length > 0) due();
      if (this.#isFailing) events.emit('notice', { message: 'the server looks for due tasks again' });
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing && !this.#isStopped) {
        events.emit('warning', {
          message: `the server cannot look for due tasks, and tries again every ${everyMs} ms: ${errorText(error)}`,
        });
      }
      this.#isFailing = true;
    }
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look();
    }, everyMs);
  }
}
