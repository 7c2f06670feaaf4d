import type { ConnectionOptions } from 'mysql2';

/** How long a session may say nothing. */
export interface SessionTiming {
  /** The server ends it after that, and frees its locks. */
  readonly silentSeconds: number;
  /** How often its locks are proven to be held. */
  readonly proofMs: number;
}

/** What the thread that holds a session is given. */
export interface SessionOrders {
  readonly config: ConnectionOptions;
  readonly timing: SessionTiming;
  /** Written by the thread, read by the session: when the last proof was sent that its locks are held, by `process.hrtime`. */
  readonly provenAt: SharedArrayBuffer;
  /** Locks to hold from the beginning. */
  readonly lasting: readonly string[];
}

/** What a session asks of its thread. `hold` takes a lock and keeps it over reconnects. */
export interface SessionQuestion {
  readonly id: number;
  readonly ask: 'hold' | 'tryLock' | 'unlock';
  readonly name: string;
}

/** Its connection is to be replaced by a new one. */
export interface SessionLeave {
  readonly leave: SentError;
}

export type SessionMessage = SessionQuestion | SessionLeave | 'stop';

/** An error on its way between threads, which copy only what the language defines of it. */
export interface SentError {
  readonly message: string;
  readonly code: unknown;
  readonly errno: unknown;
}

/**
 * What the thread tells. `failed`: its first connection could not be opened, and it has ended. `stillLost`: nor could another one after
 * that which it had lost.
 */
export type SessionReport =
  | { readonly type: 'opened' | 'restored' }
  | { readonly type: 'failed' | 'lost' | 'stillLost'; readonly error: SentError }
  | { readonly type: 'answer'; readonly id: number; readonly done: boolean; readonly error?: SentError };

export function sendError(error: unknown): SentError {
  const { code, errno } = (error ?? {}) as { readonly code?: unknown; readonly errno?: unknown };
  return { message: error instanceof Error ? error.message : String(error), code, errno };
}

export function readError({ message, code, errno }: SentError): Error {
  return Object.assign(new Error(message), { code, errno });
}
