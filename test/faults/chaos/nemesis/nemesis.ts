import type { Pool, QueryResultRow } from 'pg';
import type { DatabaseProxy } from '../../../support/database-proxy.js';
import type { Cluster } from '../../kit/cluster.js';
import type { WorkerSlot } from '../fleet.js';
import type { HistoryWriter } from '../history.js';
import type { Random } from '../prng.js';
import type { Producer } from '../workload/producer.js';

/** What faults are made with. */
export interface World {
  readonly cluster: Cluster;
  readonly slots: readonly WorkerSlot[];
  readonly producer: Producer;
  readonly producerProxy: DatabaseProxy;
  readonly history: HistoryWriter;
  readonly historyFolder: string;
  readonly poolSize: number;
  /** Straight to the database, past all proxies. */
  readonly admin: Pool;
  /** Asks the database, again and again while it is down. */
  readonly ask: <Row extends QueryResultRow>(sql: string, values?: unknown[]) => Promise<readonly Row[]>;
}

/** A kind of fault. */
export interface Nemesis {
  readonly kind: string;
  /** Faults of the same group are not made at the same time. */
  readonly group?: string;
  /**
   * Makes one fault and takes it back. Answers what it hit; undefined when it met nothing that it could harm, so
   * that it does not count.
   */
  strike(world: World, random: Random): Promise<string | undefined>;
}

/** A worker that is at work, with how many rows it holds; undefined when all are idle or gone. */
export async function pickBusy(
  { slots, ask }: World,
  random: Random,
): Promise<{ readonly slot: WorkerSlot; readonly rows: number } | undefined> {
  const rows = await ask<{ executor: string; n: number }>(
    `select executor::text, count(*)::int as n from tasks where status = 'processando' group by 1`,
  );
  const busy = slots.flatMap((slot) => {
    const held = slot.process && rows.find(({ executor }) => executor === slot.workerId);
    return held ? [{ slot, rows: held.n }] : [];
  });
  return busy.length === 0 ? undefined : random.pick(busy);
}

/** Any worker that is at work. */
export function pickAny({ slots }: World, random: Random): WorkerSlot | undefined {
  const working = slots.filter((slot) => slot.process);
  return working.length === 0 ? undefined : random.pick(working);
}
