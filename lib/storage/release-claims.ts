import type { Claim, WorkerId } from './attempt.js';
import { byHalves } from './by-halves.js';
import type { QueueDatabase } from './database.js';
import { blamesRow } from './error-kind.js';

/** What became of attempts that were to be given back; those in neither are lost, or another session has locked them. */
export interface ReleasedClaims {
  readonly released: ReadonlySet<string>;
  /** Rows that the database does not let change, with its error. */
  readonly refused: ReadonlyMap<string, unknown>;
}

/** Gives attempts back that were claimed but not started. A row that cannot be changed holds up no other. */
export async function releaseClaims(
  database: Pick<QueueDatabase, 'attempts' | 'classify'>,
  workerId: WorkerId,
  claims: readonly Claim[],
): Promise<ReleasedClaims> {
  const released = new Set<string>();
  const { refused } = await byHalves(
    claims,
    async (some) => {
      for (const id of await database.attempts.releaseMany(workerId, some)) released.add(id);
    },
    (error) => blamesRow(database.classify(error)),
  );
  return { released, refused: new Map(refused.map(({ one, error }) => [one.id, error])) };
}
