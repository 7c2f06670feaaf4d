import type { WorkerId } from '../../attempt.js';
import type { ControlConnection } from '../connections/control-connection.js';
import { giveTaskLocks, keepTaskLocks } from '../statements/interop.js';
import { readBoolean } from '../../columns.js';

/** Claims leave out what a worker of nsj-queue-lib has locked for this time. */
const leftOutMs = 900;

/**
 * Locks of tasks as workers of nsj-queue-lib take them: `pg_advisory_lock` on the bare id, in the session that claims.
 * They take an unlocked running attempt for a crashed one, so a lock lasts from the claim until the row
 * says how it ended.
 */
export class TaskLocks {
  readonly #control: ControlConnection;
  readonly #held = new Map<WorkerId, Set<string>>();
  /** Ids that others have locked, and until when they are left out. */
  readonly #refused = new Map<string, number>();
  /** Connection whose locks are known, once it was looked at. */
  #known: number | undefined;

  constructor(control: ControlConnection) {
    this.#control = control;
  }

  /** Ids that the next claim leaves out. */
  get leftOut(): readonly string[] {
    const now = performance.now();
    for (const [id, until] of this.#refused) if (until <= now) this.#refused.delete(id);
    return [...this.#refused.keys()];
  }

  /** A claim got some locks and was refused others. */
  learn(workerId: WorkerId, claimed: readonly { readonly id: string }[], refused: readonly string[]): void {
    const held = this.#heldBy(workerId);
    for (const { id } of claimed) held.add(id);
    for (const id of refused) this.#refused.set(id, performance.now() + leftOutMs);
  }

  /** A claim failed: it may have taken locks that are not known here. */
  invalidate(): void {
    this.#known = undefined;
  }

  /**
   * Gives back the locks of attempts that a worker no longer holds; after a lost connection takes those of the
   * others again. Returns false when another session has one of them: call again in a moment.
   */
  async keep(workerId: WorkerId, ids: readonly string[]): Promise<boolean> {
    const before = this.#heldBy(workerId);
    const now = new Set(ids);
    const ended = [...before].filter((id) => !now.has(id));
    this.#held.set(workerId, now);
    if (this.#known !== this.#control.generation) return this.#keepAll();
    if (ended.length > 0) await this.#control.query(giveTaskLocks, [ended]);
    return true;
  }

  async #keepAll(): Promise<boolean> {
    // Read when it is sent: a claim before it may take more.
    const values = (): readonly unknown[] => [[...this.#held.values()].flatMap((ids) => [...ids])];
    const [row] = await this.#control.query(keepTaskLocks, values);
    const refused = readBoolean(row?.['refused']);
    this.#known = refused ? undefined : this.#control.generation;
    return !refused;
  }

  #heldBy(workerId: WorkerId): Set<string> {
    let ids = this.#held.get(workerId);
    if (!ids) this.#held.set(workerId, (ids = new Set()));
    return ids;
  }
}
