import { TarefaError } from '../errors.js';
import type { WorkerId } from './attempt.js';

/** How a database gives ids to workers. */
export interface IdSource {
  /** Writes the worker down under the next id; says whether attempts are held by that id. Undefined where that id is taken. */
  readonly take: () => Promise<{ readonly id: WorkerId; readonly isHolding: boolean } | undefined>;
  /** Gives an id up. */
  readonly leave: (id: WorkerId) => Promise<void>;
}

/** More workers than that have no rows while their attempts run, or start at the same moment. */
const mostIds = 1_000;

/**
 * Takes an id by which nobody holds attempts. Ids start over when a table is emptied: what a worker of before holds would count
 * as the new one's, and never be recovered.
 *
 * @throws {TarefaError} `SCHEMA_CONFLICT`
 */
export async function takeFreeId({ take, leave }: IdSource): Promise<WorkerId> {
  for (let tried = 0; tried < mostIds; tried += 1) {
    const taken = await take();
    if (!taken) continue;
    if (!taken.isHolding) return taken.id;
    await leave(taken.id);
  }
  throw new TarefaError(
    'SCHEMA_CONFLICT',
    `no free id was found for this worker in ${mostIds} tries: the ids from the table of workers are taken, or attempts are still held under them`,
  );
}
