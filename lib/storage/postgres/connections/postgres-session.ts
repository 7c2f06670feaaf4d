import type { Client, ClientConfig } from 'pg';
import type { HearingChanged, Session, SessionWatcher } from '../../../coordination/session.js';
import { OwnedConnection, withAnswerLimit } from './control-connection.js';
import { sessionSettings, isConnectionError } from './connection-config.js';
import { goodbyeMs, Sockets } from './sockets.js';
import { Backoff } from '../../../timing/backoff.js';
import { quoteIdentifier } from '../identifiers.js';

/**
 * The one session of a process with a database: what is bound to a session lives here, namely LISTEN and
 * session locks. Locks that were held, and channels that were listened on, are taken again after a
 * reconnect. Shared by all queues of the process in that database.
 */
export class PostgresSession implements Session {
  readonly #connection: OwnedConnection;
  readonly #sockets = new Sockets();
  readonly #backoff = new Backoff({ firstMs: 100, mostMs: 2_000 });
  readonly #channels: ListenedChannels;
  /** Locks to hold as long as there is a session: liveness. */
  readonly #lasting = new Set<string>();
  /** Locks held now. PostgreSQL would grant a session the same lock twice, so it is not asked. */
  readonly #held = new Set<string>();
  readonly #watchers = new Set<SessionWatcher>();
  #reconnecting: Promise<void> | undefined;
  #restoredAt = -Infinity;
  /** What failed last while it was down. */
  #failure: unknown;

  constructor(config: ClientConfig) {
    this.#channels = new ListenedChannels(this);
    this.#connection = new OwnedConnection(
      { stream: this.#sockets.open, ...config },
      'direct',
      sessionSettings,
      (why) => this.#dropped(why),
      (client) => this.#takeOver(client),
    );
  }

  get up(): boolean {
    return this.#connection.client !== undefined;
  }

  get failure(): unknown {
    return this.up ? undefined : this.#failure;
  }

  /** Milliseconds since it came back after a loss, by the process's own monotonic clock; infinite before that. */
  get steadyMs(): number {
    return performance.now() - this.#restoredAt;
  }

  /** Opens the session; rejects when that fails the first time, later it reconnects automatically. */
  async start(): Promise<void> {
    await this.#connection.open();
  }

  watch(watcher: SessionWatcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  listen(
    channel: string,
    heard: (text: string) => void,
    changed: HearingChanged,
  ): Promise<() => Promise<void>> {
    return this.#channels.add(channel, heard, changed);
  }

  /** Runs one statement after the other: queues and routines share the session. */
  query(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    return this.#connection.inTurn(() => this.#run(text, values));
  }

  async hold(key: string): Promise<boolean> {
    if (this.#lasting.has(key)) return false;
    this.#lasting.add(key);
    let isHeld = false;
    try {
      isHeld = await this.tryLock(key);
    } finally {
      // A session that comes back would wait for what is another's.
      if (!isHeld) this.#lasting.delete(key);
    }
    return isHeld;
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

  leave(why: Error): void {
    const { client } = this.#connection;
    if (client) this.#connection.drop(client, why);
  }

  async stop(): Promise<void> {
    this.#backoff.cancel();
    const silent = this.#channels.stop();
    await this.#sockets.closeAfter(this.#connection.close(), goodbyeMs);
    await Promise.all([this.#reconnecting, silent]);
  }

  async #run(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
    const { client } = this.#connection;
    if (!client) throw new Error('Connection terminated: the session is down');
    const answer = client.query<Record<string, unknown>>(text, [...values]);
    const { rows } = await withAnswerLimit(client, answer);
    return rows;
  }

  /** Takes the lasting locks, which what was left of the lost session would keep from us, and listens as before where it may. */
  async #takeOver(client: Client): Promise<void> {
    for (const key of this.#lasting) {
      const { rows: locks } = await client.query<{ locked: boolean }>(
        'select pg_try_advisory_lock(hashtextextended($1::text, 0)) as locked',
        [key],
      );
      if (locks[0]?.locked !== true) throw new Error(`another session still holds the lock '${key}'`);
      this.#held.add(key);
    }
    await this.#channels.takeOver(client);
  }

  #dropped(why: unknown): void {
    this.#held.clear();
    this.#failure = why;
    if (this.#connection.closed) return;
    for (const watcher of this.#watchers) watcher.lost(why);
    this.#reconnecting ??= this.#reconnect().finally(() => (this.#reconnecting = undefined));
  }

  async #reconnect(): Promise<void> {
    while (!this.#connection.closed && !this.up) {
      await this.#backoff.wait();
      await this.#connection.open().catch((error: unknown) => (this.#failure = error));
    }
    this.#backoff.reset();
    this.#restoredAt = performance.now();
    if (this.up) for (const watcher of this.#watchers) watcher.restored();
  }
}

interface Listener {
  readonly heard: (text: string) => void;
  readonly changed: HearingChanged;
}

/**
 * The channels that a session listens on. A server, or what stands before it, may refuse that: the session is good for its locks all
 * the same, whoever listens is told, and it is asked again.
 */
class ListenedChannels {
  readonly #session: PostgresSession;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** Channels on which it may not listen, and why. */
  readonly #refused = new Map<string, unknown>();
  readonly #pause = new Backoff({ firstMs: 1_000, mostMs: 30_000 });
  #asking: Promise<void> | undefined;
  #stopped = false;

  constructor(session: PostgresSession) {
    this.#session = session;
  }

  /** Resolves when it listens, or is refused. */
  async add(
    channel: string,
    heard: Listener['heard'],
    changed: HearingChanged,
  ): Promise<() => Promise<void>> {
    const listener = { heard, changed };
    const listeners = this.#listeners.get(channel) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(channel, listeners);
    if (this.#refused.has(channel)) changed(this.#refused.get(channel));
    // Where there is no session, the next one listens.
    else if (listeners.size === 1 && this.#session.up) await this.#listen(channel);
    return async () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      this.#listeners.delete(channel);
      this.#refused.delete(channel);
      await this.#session.query(`unlisten ${quoteIdentifier(channel)}`).catch(() => undefined);
    };
  }

  /** Listens on them all by a new connection. */
  async takeOver(client: Client): Promise<void> {
    client.on('notification', ({ channel, payload }) => {
      for (const { heard } of this.#listeners.get(channel) ?? []) heard(payload ?? '');
    });
    for (const channel of this.#listeners.keys()) {
      await this.#listen(channel, client);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#pause.cancel();
    await this.#asking;
  }

  /** @param client a new connection, which is worth nothing once it is lost. Default: that of the session */
  async #listen(channel: string, client?: Client): Promise<void> {
    try {
      await (client ?? this.#session).query(`listen ${quoteIdentifier(channel)}`);
      if (this.#refused.delete(channel)) this.#tell(channel, undefined);
    } catch (error) {
      if (isConnectionError(error)) {
        if (client) throw error;
        return;
      }
      if (!this.#listeners.has(channel)) return;
      this.#refused.set(channel, error);
      this.#tell(channel, error);
      this.#asking ??= this.#askAgain().finally(() => (this.#asking = undefined));
    }
  }

  #tell(channel: string, refusal: unknown): void {
    for (const { changed } of this.#listeners.get(channel) ?? []) changed(refusal);
  }

  async #askAgain(): Promise<void> {
    while (!this.#stopped && this.#refused.size > 0) {
      await this.#pause.wait();
      for (const channel of [...this.#refused.keys()]) {
        if (this.#stopped || !this.#session.up) break;
        await this.#listen(channel);
      }
    }
    this.#pause.reset();
  }
}
