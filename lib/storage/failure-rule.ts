import type { NextAttempt, Verdict } from './attempt.js';

/** After this many workers lost in a row the chain is buried: the task kills its workers. */
export const mostLosses = 5;

/** What decides whether a failed attempt is followed by another one. */
export interface FailedAttempt {
  /** Number of the attempt in its chain, from 1. */
  readonly attempt: number;
  /** Workers lost in a row before it. */
  readonly losses: number;
  /** Attempts the chain may have in all. */
  readonly maxAttempts: number;
  readonly next: NextAttempt;
  /** True when its worker was lost. */
  readonly lost: boolean;
}

/**
 * Decides whether a failed attempt is tried again. It is decided from what the claim has read, and holds because the fence
 * guards the row: who changes `tentativa` or `perdas` of a running attempt by hand changes the verdict on the next one.
 */
export function verdict({ attempt, losses, maxAttempts, next, lost }: FailedAttempt): Verdict {
  const isDeadly = lost && losses >= mostLosses - 1;
  if (next.kind === 'never' || attempt >= maxAttempts || isDeadly) {
    return { next: undefined, nextLosses: 0, note: ' (no attempts left)' };
  }
  const nextLosses = lost ? Math.min(losses, mostLosses) + 1 : 0;
  return { next, nextLosses, note: ' (will be tried again)' };
}
