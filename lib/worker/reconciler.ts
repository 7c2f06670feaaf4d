import type { Coordinator } from '../coordination/coordinator.js';
import { TarefaError } from '../queue.errors.js';
import type { QueueEvents } from '../queue.events.js';
import type { HeldTask, Storage, WorkerId } from '../storage/storage.js';
import type { RunningTasks } from './running-tasks.js';
import { claimKey, reference, type Settler } from './settler.js';

/** What a {@link Reconciler} works with. */
export interface ReconcilerParts {
  readonly storage: Storage;
  readonly coordinator: Coordinator;
  readonly settler: Settler;
  readonly events: QueueEvents;
}

/** Rows compared with memory: more than a worker can hold. */
const heldPage = 20_000;

/**
 * Compares what the table says a worker holds with what it knows, after a lost connection. Rows that it knows
 * nothing of come from a claim whose answer was lost, and are given back; tasks that run here though the table
 * says otherwise were recovered by another worker: they are told to stop, and their transactions are cut, which may
 * be waiting for a network that is gone.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts;

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
  }

  /** @param running the worker's own record, which changes while the table is read */
  async compare(workerId: WorkerId, running: RunningTasks): Promise<void> {
    const { storage, settler } = this.#parts;
    const before = running.all();
    const held = await storage.readHeld(workerId, heldPage);
    const claims = new Set(held.map(claimKey));
    for (const task of before) {
      const { claimed, context } = task;
      if (claims.has(claimKey(claimed)) || !running.includes(task)) continue;
      // Finished in a transaction of its own, it may go on with something else.
      if (context?.completedElsewhere) continue;
      context?.destroy(
        new TarefaError('TASK_LOST', `attempt ${claimed.id} was given to another worker meanwhile`),
      );
    }
    await this.#release(
      workerId,
      held.filter(({ id }) => !running.has(id) && !settler.knows(id)),
    );
  }

  async #release(workerId: WorkerId, unknown: readonly HeldTask[]): Promise<void> {
    if (unknown.length === 0) return;
    const { storage, coordinator, events } = this.#parts;
    const released = new Set(await storage.release(workerId, unknown));
    for (const one of unknown) {
      if (!released.has(one.id)) continue;
      events.emit('task.released', { task: reference(one), reason: 'its claim was never answered' });
    }
    coordinator.ring();
  }
}
