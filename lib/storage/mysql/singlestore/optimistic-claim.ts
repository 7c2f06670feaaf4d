import type { ClaimedTask, Completion } from '../../attempt.js';
import type { ClaimAnswer, ClaimRequest } from '../../claiming/claim-request.js';
import type { TextRow } from '../connections/answers.js';
import type { QueueTables } from '../identifiers.js';
import { readClaimedTask } from '../../task-row.js';
import { claimClock, claimedIds, take } from '../statements/claim.js';
import { seeBest, type Arm } from '../statements/claim-arms.js';
import { lockEnded, settle } from '../statements/settle.js';
import { claimedFields } from '../statements/task-fields.js';
import { named } from '../statement.js';
import { choose, count, readFound, shortRoutes, type Found } from '../claims/chosen.js';
import {
  armsOf,
  claimsOf,
  nothingElse,
  stillHeldOf,
  type ClaimTransactionParts,
  type ClaimWork,
} from '../claims/claim-transaction.js';
import { askTogether, begin, commit, type Part } from '../claims/one-text.js';

/** What is told of those that `#takeFree` has made this worker's: it claims one time after the other. Parameters: the same. */
const readTaken = (tables: QueueTables): string =>
  named(
    'read_taken',
    `select${claimedFields(tables, claimedIds, 'f.reserva')}
where f.status = 'processando' and f.executor = ?`,
  );

/** What a claim has looked at. */
interface Look {
  readonly ended: readonly Completion[];
  readonly exhaustedAt: string | undefined;
  readonly seen: readonly Found[];
}

/**
 * Does what `ClaimTransaction` does, without `skip locked`: it looks at what is pending without a lock, changes what is pending still,
 * and reads what it has changed. A change waits for that of another claim, and then leaves what the other has taken: the next claim
 * looks again. All change rows in the order of their ids, so that none wait for each other.
 */
export class OptimisticClaim implements ClaimWork {
  readonly #parts: ClaimTransactionParts;

  constructor(parts: ClaimTransactionParts) {
    this.#parts = parts;
  }

  async settle(): Promise<readonly string[] | undefined> {
    const { run, completions } = this.#parts;
    if (completions.length === 0) return undefined;
    const { ended } = await askTogether(run, { begin, ended: this.#lockEnded() });
    const held = stillHeldOf(completions, ended?.rows);
    await askTogether(run, { settled: this.#settle(held), commit });
    return this.#settledOnly(held);
  }

  async claim(request: ClaimRequest): Promise<ClaimAnswer> {
    const isCounted = request.shape === 'counted';
    const arms = armsOf(request, isCounted ? request.depth : request.total);
    const { ended, exhaustedAt, seen } = await this.#look(arms);
    const counted = isCounted ? count(request, arms, seen) : undefined;
    const wanted = counted?.wanted ?? choose(request, seen);
    const taken = await this.#take(ended, idsOf(wanted));
    const claimed = taken.map((row) => readClaimedTask(row, this.#parts.names.identity));
    await askTogether(this.#parts.run, { commit });
    const got = new Set(claimed.map(({ id }) => id));
    const ofWanted = wanted.filter(({ id }) => got.has(id));
    const routes = new Set(seen.map(({ place }) => request.stretches[place]?.route));
    const isAll = claimed.length === wanted.length && claimed.length < request.total && !counted?.isCut;
    return {
      ...nothingElse,
      settledOnly: this.#settledOnly(ended),
      claimed,
      lockedRoutes: shortRoutes(request, wanted, ofWanted),
      moreRoutes: counted?.moreRoutes,
      isCut: counted?.isCut ?? false,
      contended: request.shape === 'single' && routes.size > 1,
      exhaustedAt: isAll ? exhaustedAt : undefined,
    };
  }

  async claimDead(ids: readonly string[]): Promise<readonly ClaimedTask[]> {
    const { taken } = await askTogether(this.#parts.run, {
      begin,
      changed: this.#takeFree(ids),
      taken: this.#readTaken(ids),
      commit,
    });
    return inOrderOf(ids, taken?.rows).map((row) => readClaimedTask(row, this.#parts.names.identity));
  }

  async #look(arms: readonly Arm[]): Promise<Look> {
    const { run, names, completions, leftOut } = this.#parts;
    const { ended, clock, seen } = await askTogether(run, {
      begin,
      ended: completions.length === 0 ? undefined : this.#lockEnded(),
      clock: { text: claimClock },
      seen: arms.length === 0 ? undefined : seeBest(names.tables, arms, { ids: leftOut }),
    });
    return {
      ended: stillHeldOf(completions, ended?.rows),
      exhaustedAt: clock?.rows[0]?.['exhausted_at'] ?? undefined,
      seen: (seen?.rows ?? []).map(readFound),
    };
  }

  async #take(ended: readonly Completion[], ids: readonly string[]): Promise<readonly TextRow[]> {
    if (ended.length === 0 && ids.length === 0) return [];
    const { taken } = await askTogether(this.#parts.run, {
      settled: this.#settle(ended),
      changed: ids.length === 0 ? undefined : this.#takeFree(ids),
      taken: ids.length === 0 ? undefined : this.#readTaken(ids),
    });
    return inOrderOf(ids, taken?.rows);
  }

  /** Makes those of some attempts this worker's that are still pending. */
  #takeFree(ids: readonly string[]): Part {
    const { names, workerId } = this.#parts;
    const { text, ...part } = take(names.tables, ids, workerId);
    return { ...part, text: `${text} and f.status = 'pendente'` };
  }

  #readTaken(ids: readonly string[]): Part {
    const { names, workerId } = this.#parts;
    return { text: readTaken(names.tables), values: [JSON.stringify(ids), workerId] };
  }

  #lockEnded(): Part {
    const { names, workerId, completions } = this.#parts;
    return { text: lockEnded(names.tables), values: [claimsOf(completions), workerId] };
  }

  #settle(ended: readonly Completion[]): Part | undefined {
    if (ended.length === 0) return undefined;
    const { names, workerId } = this.#parts;
    return settle(names.tables, ended, workerId, false);
  }

  #settledOnly(ended: readonly Completion[]): readonly string[] | undefined {
    return ended.length === this.#parts.completions.length ? undefined : idsOf(ended);
  }
}

/** As they were asked for: the server answers them as they lie. */
function inOrderOf(ids: readonly string[], rows: readonly TextRow[] = []): readonly TextRow[] {
  const byId = new Map(rows.map((row) => [row['id'], row]));
  return ids.map((id) => byId.get(id)).filter((row) => row !== undefined);
}

function idsOf(rows: readonly { readonly id: string }[]): readonly string[] {
  return rows.map(({ id }) => id);
}
