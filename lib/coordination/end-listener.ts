import { endsChannel, waitsChannel } from './channels.js';
import type { PostgresSession } from '../storage/postgres/connections/postgres-session.js';

/** Hears of the ends of tasks that somebody in this process waits for. */
export class EndListener {
  readonly #session: PostgresSession;
  readonly #qualifiedTable: string;
  readonly #waiting = new Map<string, Set<() => void>>();

  private constructor(session: PostgresSession, qualifiedTable: string) {
    this.#session = session;
    this.#qualifiedTable = qualifiedTable;
  }

  static async start(session: PostgresSession, qualifiedTable: string): Promise<EndListener> {
    const listener = new EndListener(session, qualifiedTable);
    await session.listen(endsChannel(qualifiedTable), (id) => {
      for (const ended of listener.#waiting.get(id) ?? []) ended();
    });
    return listener;
  }

  /** Tells the workers that somebody waits for that task, for so many ms. */
  async announce(firstAttemptId: string, forMs: number): Promise<void> {
    await this.#session.query('select pg_notify($1::text, $2::text)', [
      waitsChannel(this.#qualifiedTable),
      `${firstAttemptId} ${forMs}`,
    ]);
  }

  /** Calls back at that task's end; answers the function that stops it. */
  listen(firstAttemptId: string, ended: () => void): () => void {
    const listeners = this.#waiting.get(firstAttemptId) ?? new Set();
    listeners.add(ended);
    this.#waiting.set(firstAttemptId, listeners);
    return () => {
      listeners.delete(ended);
      if (listeners.size === 0) this.#waiting.delete(firstAttemptId);
    };
  }
}
