import type { Client, ClientConfig } from 'pg';
import type { Session, SessionWatcher } from '../../../coordination/session.js';
import { withAnswerLimit } from './answer-limit.js';
import { sessionSettings } from './connection-config.js';
import { quoteIdentifier } from '../identifiers.js';
import { OwnedConnection } from './owned-connection.js';
import { goodbyeMs, Sockets } from './sockets.js';
import { Backoff } from '../../../timing/backoff.js';

/**
 * The one session of a process with a database: what is bound to a session lives here, namely LISTEN and
 * session locks. Locks that were held, and channels that were listened on, are taken again after a
 * reconnect. Shared by all queues of the process in that database.
 */
export class PostgresSession implements Session {
  readonly #connection: OwnedConnection;
  readonly #sockets = new Sockets();
  readonly #backoff = new Backoff({ firstMs: 100, mostMs: 2_000 });
  readonly #channels = new Map<string, Set<(text: string) => void>>();
  /** Locks to hold as long as there is a session: liveness. */
  readonly #lasting = new Set<string>();
  /** Locks held now. PostgreSQL would grant a session the same lock twice, so it is not asked. */
  readonly #held = new Set<string>();
  readonly #watchers = new Set<SessionWatcher>();
  #reconnecting: Promise<void> | undefined;
  #restoredAt = -Infinity;

  constructor(config: ClientConfig) {
    this.#connection = new OwnedConnection({
      config: { stream: this.#sockets.open, ...config },
      reach: 'direct',
      settings: sessionSettings,
      prepare: (client) => this.#takeOver(client),
      dropped: (why) => this.#dropped(why),
    });
  }

  get up(): boolean {
    return this.#connection.client !== undefined;
  }

  /** Milliseconds since it came back after a loss, by the process's own monotonic clock; infinite before that. */
  get steadyMs(): number {
    return performance.now() - this.#restoredAt;
  }

  /** Opens the session; rejects when that fails the first time, later it reconnects by itself. */
  async start(): Promise<void> {
    await this.#connection.open();
  }

  watch(watcher: SessionWatcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Listens on a channel until the returned function is called. */
  async listen(channel: string, listener: (text: string) => void): Promise<() => Promise<void>> {
    const listeners = this.#channels.get(channel) ?? new Set();
    listeners.add(listener);
    this.#channels.set(channel, listeners);
    if (listeners.size === 1 && this.up) await this.query(`listen ${quoteIdentifier(channel)}`);
    return async () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      this.#channels.delete(channel);
      await this.query(`unlisten ${quoteIdentifier(channel)}`).catch(() => undefined);
    };
  }

  /** Runs one statement after the other: queues and routines share the session. */
  query(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    return this.#connection.inTurn(() => this.#run(text, values));
  }

  /** Takes a lock and keeps it over reconnects, until `unlock`. */
  async hold(key: string): Promise<void> {
    this.#lasting.add(key);
    if (!(await this.tryLock(key))) throw new Error(`another session holds the lock '${key}'`);
  }

  /** Takes a lock unless this process or another holds it. Lost with the session. */
  async tryLock(key: string): Promise<boolean> {
    if (this.#held.has(key)) return false;
    this.#held.add(key);
    try {
      const [row] = await this.query('select pg_try_advisory_lock(hashtextextended($1::text, 0)) as locked', [
        key,
      ]);
      if (row?.['locked'] === true) return true;
    } catch (error) {
      this.#held.delete(key);
      throw error;
    }
    this.#held.delete(key);
    return false;
  }

  async unlock(key: string): Promise<void> {
    this.#lasting.delete(key);
    if (!this.#held.delete(key)) return;
    await this.query('select pg_advisory_unlock(hashtextextended($1::text, 0))', [key]).catch(
      () => undefined,
    );
  }

  async stop(): Promise<void> {
    this.#backoff.cancel();
    await this.#sockets.closeAfter(this.#connection.close(), goodbyeMs);
    await this.#reconnecting;
  }

  async #run(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
    const { client } = this.#connection;
    if (!client) throw new Error('Connection terminated: the session is down');
    const answer = client.query<Record<string, unknown>>(text, [...values]);
    const { rows } = await withAnswerLimit(client, answer);
    return rows;
  }

  /** Takes the lasting locks, which what was left of the lost session would keep from us, and listens as before. */
  async #takeOver(client: Client): Promise<void> {
    client.on('notification', ({ channel, payload }) => {
      for (const listener of this.#channels.get(channel) ?? []) listener(payload ?? '');
    });
    for (const key of this.#lasting) {
      const { rows: locks } = await client.query<{ locked: boolean }>(
        'select pg_try_advisory_lock(hashtextextended($1::text, 0)) as locked',
        [key],
      );
      if (locks[0]?.locked !== true) throw new Error(`another session still holds the lock '${key}'`);
      this.#held.add(key);
    }
    for (const channel of this.#channels.keys()) await client.query(`listen ${quoteIdentifier(channel)}`);
  }

  #dropped(why: unknown): void {
    this.#held.clear();
    if (this.#connection.closed) return;
    for (const watcher of this.#watchers) watcher.lost(why);
    this.#reconnecting ??= this.#reconnect().finally(() => (this.#reconnecting = undefined));
  }

  async #reconnect(): Promise<void> {
    while (!this.#connection.closed && !this.up) {
      await this.#backoff.wait();
      await this.#connection.open().catch(() => undefined);
    }
    this.#backoff.reset();
    this.#restoredAt = performance.now();
    if (this.up) for (const watcher of this.#watchers) watcher.restored();
  }
}
