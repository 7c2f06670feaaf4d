import type { WorkerId } from '../attempt.js';
import { byHalves } from '../by-halves.js';
import type { ClaimDemand } from '../claims.js';
import { fromTheFront } from '../claiming/claim-rounds.js';
import { blamesRow } from '../error-kind.js';
import type { RowsApart } from '../rows-apart.js';
import { rowsOf } from './administration/answered.js';
import { jsonIds } from './administration/id-list.js';
import { choose, readFound } from './claims/chosen.js';
import { unattendedIds } from './claims/unattended-ids.js';
import type { Run } from './connections/transactions.js';
import type { MysqlAccess } from './mysql-access.js';
import { classifyError } from './mysql-errors.js';
import { take } from './statements/claim.js';
import { seeBest } from './statements/claim-arms.js';
import { lockFree } from './statements/held.js';
import { promote, seeDue } from './statements/promote.js';

/** Looked at of dead attempts. */
const ofDead = 1_000;

/**
 * Finds out of which attempts the database refuses a change, by making it in a transaction that is undone, and sets these apart.
 */
export class RefusedRows {
  readonly #access: MysqlAccess;
  readonly #apart: RowsApart;

  constructor(access: MysqlAccess, apart: RowsApart) {
    this.#access = access;
    this.#apart = apart;
  }

  /** Among those that a claim would take; false when none could be set apart. */
  async setClaimedApart(among: ClaimDemand | 'unattended', workerId: WorkerId): Promise<boolean> {
    const ids = await (among === 'unattended'
      ? unattendedIds(this.#access, this.#apart, ofDead)
      : this.#seeBest(among));
    return this.#setApart(ids, 'pendente', (run, free) => {
      const { text, values } = take(this.#access.tables, free, workerId);
      return run(text, values);
    });
  }

  /** Among those that a promotion would take. */
  async setDueApart(limit: number): Promise<boolean> {
    const { text, values } = seeDue(this.#access.tables, this.#apart, limit);
    const ids = (await this.#access.ask(text, values)).map((row) => String(row['id']));
    return this.#setApart(ids, 'agendada', (run, free) => run(promote(this.#access.tables), [jsonIds(free)]));
  }

  async #seeBest(demand: ClaimDemand): Promise<readonly string[]> {
    const request = fromTheFront(demand);
    const arms = request.stretches.map((stretch, place) => ({ place, stretch, limit: stretch.limit }));
    if (arms.length === 0) return [];
    const { text, values } = seeBest(this.#access.tables, arms, this.#apart);
    return choose(request, (await this.#access.ask(text, values)).map(readFound)).map(({ id }) => id);
  }

  /** @param change of rows that stand so and are locked */
  async #setApart(
    ids: readonly string[],
    status: string,
    change: (run: Run, free: readonly string[]) => Promise<unknown>,
  ): Promise<boolean> {
    if (ids.length === 0) return false;
    const { own, tables } = this.#access;
    const { refused } = await own.transaction(async (run) => {
      const free = await rowsOf(run, lockFree(tables), [jsonIds(ids), status]);
      return byHalves(
        free.map((row) => ({ id: String(row['id']), route: String(row['route']) })),
        (some) =>
          attempt(run, () =>
            change(
              run,
              some.map(({ id }) => id),
            ),
          ),
        (error) => blamesRow(classifyError(error)),
      );
    });
    return this.#apart.add(refused.map(({ one, error }) => ({ ...one, error })));
  }
}

/** Does something, and undoes it. */
async function attempt(run: Run, change: () => Promise<unknown>): Promise<void> {
  await run('savepoint tarefa_attempt');
  try {
    await change();
  } finally {
    await run('rollback to savepoint tarefa_attempt');
  }
}
