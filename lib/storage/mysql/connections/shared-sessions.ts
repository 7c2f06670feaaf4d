import type { ConnectionOptions } from 'mysql2';
import type { SessionUse } from '../../../coordination/session.js';
import { MysqlSession } from './mysql-session.js';

interface SharedSession {
  readonly session: MysqlSession;
  readonly opened: Promise<void>;
  users: number;
}

/** The sessions of one process: one per database, shared by the queues in it. */
export class SharedMysqlSessions {
  readonly #sessions = new Map<string, SharedSession>();

  /** @param key the same for the same database */
  use(key: string, config: ConnectionOptions): SessionUse {
    let isOpen = false;
    return {
      open: async () => {
        const session = await this.#open(key, config);
        isOpen = true;
        return session;
      },
      close: async () => {
        if (!isOpen) return;
        isOpen = false;
        await this.#close(key);
      },
    };
  }

  async #open(key: string, config: ConnectionOptions): Promise<MysqlSession> {
    let shared = this.#sessions.get(key);
    if (!shared) {
      const session = new MysqlSession(config);
      shared = { session, opened: session.start(), users: 0 };
      this.#sessions.set(key, shared);
    }
    shared.users += 1;
    try {
      await shared.opened;
    } catch (error) {
      await this.#close(key);
      throw error;
    }
    return shared.session;
  }

  /** Closes the session when this was its last user. */
  async #close(key: string): Promise<void> {
    const shared = this.#sessions.get(key);
    if (!shared) return;
    shared.users -= 1;
    if (shared.users > 0) return;
    this.#sessions.delete(key);
    await shared.session.stop();
  }
}
