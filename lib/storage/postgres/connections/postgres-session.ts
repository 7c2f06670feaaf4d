import { Client, type ClientConfig } from 'pg';
import type { Session, SessionWatcher } from '../../../coordination/session.js';
import { withAnswerLimit } from './answer-limit.js';
import { sessionSettings } from './connection-config.js';
import { quoteIdentifier } from '../identifiers.js';
import { goodbyeMs, Sockets } from './sockets.js';
import { Backoff } from '../../../timing/backoff.js';

/**
 * The one session of a process with a database: what is bound to a session lives here, namely LISTEN and
 * session locks. Locks that were held, and channels that were listened on, are taken again after a
 * reconnect. Shared by all queues of the process in that database.
 */
export class PostgresSession implements Session {
  readonly #config: ClientConfig;
  readonly #sockets = new Sockets();
  readonly #backoff = new Backoff({ firstMs: 100, mostMs: 2_000 });
  readonly #channels = new Map<string, Set<(text: string) => void>>();
  /** Locks to hold as long as there is a session: liveness. */
  readonly #lasting = new Set<string>();
  /** Locks held now. PostgreSQL would grant a session the same lock twice, so it is not asked. */
  readonly #held = new Set<string>();
  readonly #watchers = new Set<SessionWatcher>();
  #client: Client | undefined;
  #lastBackend: number | undefined;
  #reconnecting: Promise<void> | undefined;
  /** Settles with the statement sent last. */
  #last: Promise<unknown> = Promise.resolve();
  #restoredAt = -Infinity;
  #stopped = false;

  constructor(config: ClientConfig) {
    this.#config = { stream: this.#sockets.open, ...config };
  }

  get up(): boolean {
    return this.#client !== undefined;
  }

  /** Milliseconds since it came back after a loss, by the process's own monotonic clock; infinite before that. */
  get steadyMs(): number {
    return performance.now() - this.#restoredAt;
  }

  /** Opens the session; rejects when that fails the first time, later it reconnects by itself. */
  async start(): Promise<void> {
    await this.#connect();
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
    if (listeners.size === 1 && this.#client) await this.query(`listen ${quoteIdentifier(channel)}`);
    return async () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      this.#channels.delete(channel);
      await this.query(`unlisten ${quoteIdentifier(channel)}`).catch(() => undefined);
    };
  }

  /** Runs one statement after the other: queues and routines share the session. */
  query(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    const answer = this.#last.then(() => this.#run(text, values));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  /** Takes a lock and keeps it over reconnects, until `unlock`. */
  async hold(key: string): Promise<void> {
    this.#lasting.add(key);
    if (!(await this.tryLock(key))) throw new Error(`somebody else holds the lock '${key}'`);
  }

  /** Takes a lock unless somebody, in this process or another, holds it. Lost with the session. */
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
    this.#stopped = true;
    this.#backoff.cancel();
    const client = this.#client;
    this.#client = undefined;
    await this.#sockets.closeAfter(client?.end().catch(() => undefined) ?? Promise.resolve(), goodbyeMs);
    await this.#reconnecting;
  }

  async #run(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
    if (!this.#client) throw new Error('Connection terminated: the session is down');
    const answer = this.#client.query<Record<string, unknown>>(text, [...values]);
    const { rows } = await withAnswerLimit(this.#client, answer);
    return rows;
  }

  async #connect(): Promise<void> {
    const client = new Client(this.#config);
    client.on('error', (error) => this.#drop(client, error));
    client.on('notification', ({ channel, payload }) => {
      for (const listener of this.#channels.get(channel) ?? []) listener(payload ?? '');
    });
    try {
      await client.connect();
      await withAnswerLimit(client, this.#setUp(client));
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    if (this.#stopped) {
      await client.end().catch(() => undefined);
      return;
    }
    client.on('end', () => this.#drop(client, new Error('Connection terminated')));
    this.#client = client;
  }

  async #setUp(client: Client): Promise<void> {
    await client.query(sessionSettings);
    await this.#takeOver(client);
    for (const channel of this.#channels.keys()) await client.query(`listen ${quoteIdentifier(channel)}`);
  }

  /** Ends what is left of the lost session, whose locks would keep ours from us, and takes the lasting ones. */
  async #takeOver(client: Client): Promise<void> {
    if (this.#lastBackend !== undefined) {
      await client
        .query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where pid = $1 and application_name = current_setting('application_name') and usename = current_user`,
          [this.#lastBackend],
        )
        .catch(() => undefined);
    }
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    this.#lastBackend = rows[0]?.pid;
    for (const key of this.#lasting) {
      const { rows: locks } = await client.query<{ locked: boolean }>(
        'select pg_try_advisory_lock(hashtextextended($1::text, 0)) as locked',
        [key],
      );
      if (locks[0]?.locked !== true) throw new Error(`somebody else still holds the lock '${key}'`);
      this.#held.add(key);
    }
  }

  #drop(client: Client, error: unknown): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#held.clear();
    void client.end().catch(() => undefined);
    if (this.#stopped) return;
    for (const watcher of this.#watchers) watcher.lost(error);
    this.#reconnecting ??= this.#reconnect().finally(() => (this.#reconnecting = undefined));
  }

  async #reconnect(): Promise<void> {
    while (!this.#stopped && !this.#client) {
      await this.#backoff.wait();
      if (this.#stopped) return;
      await this.#connect().catch(() => undefined);
    }
    this.#backoff.reset();
    this.#restoredAt = performance.now();
    if (this.#client) for (const watcher of this.#watchers) watcher.restored();
  }
}
