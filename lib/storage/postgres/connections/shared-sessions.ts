import type { ClientConfig } from 'pg';
import { PostgresSession } from './postgres-session.js';

interface SharedSession {
  readonly session: PostgresSession;
  readonly opened: Promise<void>;
  users: number;
}

/** The sessions of one process: one per database, shared by the queues in it. */
export class SharedSessions {
  readonly #sessions = new Map<string, SharedSession>();

  /** @param key the same for the same database */
  async open(key: string, config: ClientConfig): Promise<PostgresSession> {
    let shared = this.#sessions.get(key);
    if (!shared) {
      const session = new PostgresSession(config);
      shared = { session, opened: session.start(), users: 0 };
      this.#sessions.set(key, shared);
    }
    shared.users += 1;
    try {
      await shared.opened;
    } catch (error) {
      await this.close(key);
      throw error;
    }
    return shared.session;
  }

  /** Closes the session when this was its last user. */
  async close(key: string): Promise<void> {
    const shared = this.#sessions.get(key);
    if (!shared) return;
    shared.users -= 1;
    if (shared.users > 0) return;
    this.#sessions.delete(key);
    await shared.session.stop();
  }
}
