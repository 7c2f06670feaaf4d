import type { Client } from 'pg';
import type { HearingChanged } from '../../../coordination/session.js';
import { Backoff } from '../../../timing/backoff.js';
import { quoteIdentifier } from '../identifiers.js';
import { isConnectionError } from './connection-config.js';

export interface ListenedChannelsParts {
  /** Runs a statement of the session. */
  readonly query: (text: string) => Promise<unknown>;
  /** True while there is a session. */
  readonly isUp: () => boolean;
}

interface Listener {
  readonly heard: (text: string) => void;
  readonly changed: HearingChanged;
}

/**
 * The channels that a session listens on. A server, or what stands before it, may refuse that: the session is good for its locks all
 * the same, whoever listens is told, and it is asked again.
 */
export class ListenedChannels {
  readonly #parts: ListenedChannelsParts;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** Channels on which it may not listen, and why. */
  readonly #refused = new Map<string, unknown>();
  readonly #pause = new Backoff({ firstMs: 1_000, mostMs: 30_000 });
  #asking: Promise<void> | undefined;
  #stopped = false;

  constructor(parts: ListenedChannelsParts) {
    this.#parts = parts;
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
    else if (listeners.size === 1 && this.#parts.isUp()) await this.#listen(channel, this.#parts.query);
    return async () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      this.#listeners.delete(channel);
      this.#refused.delete(channel);
      await this.#parts.query(`unlisten ${quoteIdentifier(channel)}`).catch(() => undefined);
    };
  }

  /** Listens on them all by a new connection. */
  async takeOver(client: Client): Promise<void> {
    client.on('notification', ({ channel, payload }) => {
      for (const { heard } of this.#listeners.get(channel) ?? []) heard(payload ?? '');
    });
    for (const channel of this.#listeners.keys()) {
      await this.#listen(channel, (text) => client.query(text), true);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#pause.cancel();
    await this.#asking;
  }

  /** @param isNew true of a connection that is worth nothing once it is lost */
  async #listen(channel: string, query: ListenedChannelsParts['query'], isNew = false): Promise<void> {
    try {
      await query(`listen ${quoteIdentifier(channel)}`);
      if (this.#refused.delete(channel)) this.#tell(channel, undefined);
    } catch (error) {
      if (isConnectionError(error)) {
        if (isNew) throw error;
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
        if (this.#stopped || !this.#parts.isUp()) break;
        await this.#listen(channel, this.#parts.query);
      }
    }
    this.#pause.reset();
  }
}
