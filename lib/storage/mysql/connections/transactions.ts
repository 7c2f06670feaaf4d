import { setTimeout as pause } from 'node:timers/promises';
import { isRetryable } from '../mysql-errors.js';
import { endInserts } from '../statement.js';
import type { Answer } from './answers.js';

/** Sends a text of one or several statements. */
export type Run = (text: string, values?: readonly unknown[]) => Promise<readonly Answer[]>;

/** A transaction that loses to others so often, and for so long, meets something that does not pass. */
const [leastTries, leastMs] = [8, 3_000];
const [firstPauseMs, mostPauseMs] = [2, 100];

/** What names the queue is no part of the transaction: left behind, it would exempt the inserts that follow. */
const undo = `rollback; ${endInserts}`;

/**
 * Runs work that is one transaction, again from its beginning when the server has given it up for another one. After a lock wait
 * the transaction is still open there, so it is always rolled back.
 */
export async function repeated<T>(
  run: (text: string) => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  const began = performance.now();
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      // On a connection that is gone there is nothing to undo.
      await run(undo).catch(() => undefined);
      const hasTried = tries >= leastTries && performance.now() - began >= leastMs;
      if (hasTried || !isRetryable(error)) throw error;
      const full = Math.min(mostPauseMs, firstPauseMs * 2 ** tries);
      await pause(full * (0.5 + Math.random() / 2));
    }
  }
}

/** Runs work between the statements that begin and commit a transaction, again when it loses to others. */
export function inTransaction<T>(run: Run, work: (run: Run) => Promise<T>): Promise<T> {
  return repeated(run, async () => {
    await run('start transaction');
    const result = await work(run);
    await run('commit');
    return result;
  });
}
