import { readBoolean } from '../columns.js';
import type { ClaimRequest, NextDue, PromoteResult, Route, WorkerId } from '../storage.js';
import type { ServedRoutes, WaitingRoute } from '../waiting-route.js';
import type { TextRow } from './connections/control-connection.js';
import { readTextBytes } from './readable-rows.js';
import { readNextDue, readPromoted } from './read-rows.js';
import type { QueueStatements } from './statements.js';
import type { AskControl } from './unreadable-tasks.js';

/** What a {@link QueueLooks} works with. */
export interface QueueLooksParts {
  readonly ask: AskControl;
  readonly sql: QueueStatements;
  /** True when workers of nsj-queue-lib serve the same table. */
  readonly interop: boolean;
}

/** Looks at what waits: when it is due, on which routes, and who serves them. */
export class QueueLooks {
  readonly #parts: QueueLooksParts;

  constructor(parts: QueueLooksParts) {
    this.#parts = parts;
  }

  async promote(limit: number): Promise<PromoteResult> {
    const name = this.#parts.interop ? 'promoteInTurn' : 'promote';
    return readPromoted(await this.#first(name, [limit]));
  }

  async nextDue(
    workerId: WorkerId,
    asksHeld: boolean,
    { routes, deadRoutes, discovers }: ServedRoutes,
  ): Promise<NextDue> {
    const values = [asksHeld ? workerId : null, workerId, routes, deadRoutes];
    return readNextDue(await this.#first(discovers ? 'nextDueOfAny' : 'nextDue', values));
  }

  async wouldClaim({ stretches, dead }: ClaimRequest): Promise<boolean> {
    const routes = stretches.map(({ route }) => route);
    const values = [routes, routes.map((route) => dead?.(route) ?? null)];
    return readBoolean((await this.#first('wouldClaim', values))?.['found']);
  }

  async isHalted(workerId: WorkerId): Promise<boolean> {
    return readBoolean((await this.#first('isHalted', [workerId]))?.['halted']);
  }

  async pendingRoutes(): Promise<readonly Route[]> {
    const { ask, sql } = this.#parts;
    return (await ask(sql.pendingRoutes, [])).map((row) => String(row['route']));
  }

  async pausedRoutes(): Promise<readonly Route[]> {
    const { ask, sql } = this.#parts;
    return (await ask(sql.pausedRoutes, [])).map((row) => readTextBytes(row['route'], row['encoding']));
  }

  async waitingRoutes(): Promise<readonly WaitingRoute[]> {
    const { ask, sql, interop } = this.#parts;
    return readWaiting(await ask(sql.waitingRoutes, []), interop);
  }

  async #first(
    name: 'promote' | 'promoteInTurn' | 'nextDue' | 'nextDueOfAny' | 'wouldClaim' | 'isHalted',
    values: readonly unknown[],
  ): Promise<TextRow | undefined> {
    const { ask, sql } = this.#parts;
    return (await ask(sql[name], values))[0];
  }
}

/**
 * Reads the answer of `waiting_routes`.
 *
 * @param interop true when workers of nsj-queue-lib serve the same table: they take every topic and register nowhere
 */
export function readWaiting(
  rows: readonly Readonly<Record<string, unknown>>[],
  interop: boolean,
): readonly WaitingRoute[] {
  return rows.map((row) => ({
    route: readTextBytes(row['route'], row['encoding']),
    waitingMs: Number(row['waiting_ms']),
    served: interop || readBoolean(row['served']),
    workerless: !interop && readBoolean(row['workerless']),
  }));
}
