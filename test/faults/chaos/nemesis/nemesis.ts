import type { DatabaseProxy } from '../../../support/database-proxy.js';
import type { WorkerSlot } from '../fleet.js';
import type { Ground } from '../ground/ground.js';
import type { HistoryWriter } from '../history.js';
import type { Random } from '../prng.js';
import type { Producer } from '../workload/producer.js';

/** What faults are made with. */
export interface World {
  readonly ground: Ground;
  readonly slots: readonly WorkerSlot[];
  readonly producer: Producer;
  readonly producerProxy: DatabaseProxy;
  readonly history: HistoryWriter;
  readonly historyFolder: string;
  readonly poolSize: number;
}

/** A kind of fault. */
export interface Nemesis {
  readonly kind: string;
  /** Faults of the same group are not made at the same time. */
  readonly group?: string;
  /** How often it has to hit, relative to the others. Default: 1 */
  readonly share?: number;
  /**
   * Makes one fault and takes it back. Returns what it hit; undefined when it met nothing that it could harm, so
   * that it does not count.
   */
  strike(world: World, random: Random): Promise<string | undefined>;
}

/** A worker that is at work, with how many rows it holds; undefined when all are idle or gone. */
export async function pickBusy(
  { slots, ground }: World,
  random: Random,
): Promise<{ readonly slot: WorkerSlot; readonly rows: number } | undefined> {
  const held = await ground.ask.held();
  const busy = slots.flatMap((slot) => {
    const own = slot.process && held.find(({ worker }) => worker === slot.workerId);
    return own ? [{ slot, rows: own.rows }] : [];
  });
  return busy.length === 0 ? undefined : random.pick(busy);
}

/** Rows in flight: whether the failure of a server was seen by anybody. */
export async function countRunning(ask: Ground['ask']): Promise<number> {
  return (await ask.held()).reduce((sum, { rows }) => sum + rows, 0);
}

/** Any worker that is at work. */
export function pickAny({ slots }: World, random: Random): WorkerSlot | undefined {
  const working = slots.filter((slot) => slot.process);
  return working.length === 0 ? undefined : random.pick(working);
}
