/** Told when a session is gone and when it is back. */
export interface SessionWatcher {
  lost(error: unknown): void;
  restored(): void;
}

/** Told why a listener hears nothing although there is a session, and undefined when it hears again. */
export type HearingChanged = (refusal: unknown) => void;

/**
 * A session with a database server, which bells and liveness are made of. What was listened on and held is taken again
 * after a reconnect. Implemented in `storage/<database>/connections`.
 */
export interface Session {
  /** True while it is connected. */
  readonly up: boolean;
  /** Why it is not connected: what failed last. Undefined while it is. */
  readonly failure: unknown;
  /** Milliseconds since it came back after a loss; infinite before that. */
  readonly steadyMs: number;
  /** Calls back at each loss and return, until the returned function is called. */
  watch(watcher: SessionWatcher): () => void;
  /** Listens on a channel until the returned function is called. Does not reject where it is refused: it tells, and tries again. */
  listen(
    channel: string,
    heard: (text: string) => void,
    changed: HearingChanged,
  ): Promise<() => Promise<void>>;
  /** Takes a lock and keeps it over reconnects, until `unlock`; false, and nothing is kept, when it is held, here or elsewhere. */
  hold(key: string): Promise<boolean>;
  /** Takes a lock unless it is held, in this process or another. Lost with the session. */
  tryLock(key: string): Promise<boolean>;
  /** Gives a lock up. */
  unlock(key: string): Promise<void>;
  /** Leaves its connection for a new one, as if it had been lost: it is to another server than the rest of the process. */
  leave(why: Error): void;
}

/** One user's hold on a session that may have several. */
export interface SessionUse {
  /** Opens the session, or shares the one that is open. */
  open(): Promise<Session>;
  /** Closes it, unless another one uses it. Idempotent. */
  close(): Promise<void>;
}
