import type { WorkerId } from '../attempt.js';
import { byHalves } from '../by-halves.js';
import { blamesRow } from '../error-kind.js';
import type { RowsApart } from '../rows-apart.js';
import type { SqlHandle } from '../sql-handle.js';
import { classifyError } from './postgres-errors.js';
import type { QueueAccess } from './queue-access.js';
import { readTextBytes } from './readable-rows.js';
import type { Statement } from './statement.js';

/**
 * Finds out of which attempts the database refuses a change, by making it in a transaction that is undone, and sets these apart.
 */
export class RefusedRows {
  readonly #access: QueueAccess;
  readonly #apart: RowsApart;

  constructor(access: QueueAccess, apart: RowsApart) {
    this.#access = access;
    this.#apart = apart;
  }

  /** Among those that a claim would take; false when none could be set apart. */
  setClaimedApart(ids: readonly string[], workerId: WorkerId): Promise<boolean> {
    return this.#setApart(ids, 'pendente', this.#access.sql.tryClaim, [workerId]);
  }

  /** Among those that a promotion would take. */
  async setDueApart(limit: number): Promise<boolean> {
    const { sql } = this.#access;
    const { ids, routes } = this.#apart;
    const due = await this.#access.ask(sql.seeDue, [limit, ids, routes]);
    return this.#setApart(idsOf(due), 'agendada', sql.tryPromotion, []);
  }

  /** Among those that a worker would take over. */
  async setForeignApart(limit: number, workerId: WorkerId): Promise<boolean> {
    const { sql } = this.#access;
    const foreign = await this.#access.ask(sql.seeForeign, [limit, this.#apart.ids]);
    return this.#setApart(idsOf(foreign), 'processando', sql.tryTakeOver, [workerId]);
  }

  /**
   * @param status of rows that are tried
   * @param change of rows that are locked; its first parameter are ids
   */
  async #setApart(
    ids: readonly string[],
    status: string,
    change: Statement,
    values: readonly unknown[],
  ): Promise<boolean> {
    const known = new Set(this.#apart.ids);
    const unknown = ids.filter((id) => !known.has(id));
    if (unknown.length === 0) return false;
    return this.#access.inOwnTransaction(async (tx) => {
      // What is checked at a commit is checked at once.
      await tx.query('set constraints all immediate');
      const { rows } = await tx.query(this.#access.sql.lockFree.text, [unknown, status]);
      const { refused } = await byHalves(
        rows.map(({ id, route, encoding }) => ({ id: String(id), route: readTextBytes(route, encoding) })),
        (some) => attempt(tx, change.text, [idsOf(some), ...values]),
        (error) => blamesRow(classifyError(error)),
      );
      return this.#apart.add(refused.map(({ one, error }) => ({ ...one, error })));
    });
  }
}

function idsOf(rows: readonly { readonly id?: unknown }[]): readonly string[] {
  return rows.map(({ id }) => String(id));
}

/** Runs a statement, and undoes it. */
async function attempt(tx: SqlHandle, text: string, values: unknown[]): Promise<void> {
  await tx.query('savepoint tarefa_attempt');
  try {
    await tx.query(text, values);
  } finally {
    await tx.query('rollback to savepoint tarefa_attempt; release savepoint tarefa_attempt');
  }
}
