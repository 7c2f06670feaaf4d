import { column } from '../columns.js';
import type { PurgedAtOnce, PurgeableCount, PurgeableWindow, PurgeLook, Upkeep } from '../upkeep.js';
import { dueMs, familyOf, hasEnded, type MemoryRow } from './memory-row.js';
import type { MemoryTable } from './memory-table.js';

const dayMs = 86_400_000;

/** {@link Upkeep} in memory, which has no partitions. */
export class MemoryUpkeep implements Upkeep {
  readonly #table: MemoryTable;

  constructor(table: MemoryTable) {
    this.#table = table;
  }

  async prepareAhead(): Promise<void> {}

  async purgeAtOnce(): Promise<PurgedAtOnce> {
    return { rows: 0, before: undefined, problem: undefined };
  }

  async findPurgeable({
    olderThanDays,
    after,
    before,
    rows,
    blockRows,
  }: PurgeLook): Promise<PurgeableWindow> {
    const isOld = (row: MemoryRow): boolean => dueMs(row) < this.#table.nowMs - olderThanDays * dayMs;
    const isOver = (row: MemoryRow): boolean => hasEnded(row) && isOld(row);
    const looked = this.#table.rows
      .filter(
        (row) => Number(idOf(row)) > Number(after ?? 0) && Number(idOf(row)) < Number(before ?? Infinity),
      )
      .slice(0, rows);
    const families = [...new Set(looked.map(familyOf))].map((family) => this.#membersOf(family));
    const purgeable = families.filter((members) => members.every(isOver)).sort(byEarliest);
    const going = new Set(purgeable.flat());
    const kept = looked.find((row) => !going.has(row));
    const last = looked.at(-1);
    return {
      blocks: inBlocks(purgeable, blockRows),
      last: last && idOf(last),
      keptFrom: kept && idOf(kept),
      goesOn: looked.length === rows && looked.some(isOld),
    };
  }

  async describe(ids: readonly string[]): Promise<readonly PurgeableCount[]> {
    const groups = new Map<string, MemoryRow[]>();
    for (const row of this.#table.rows.filter((one) => ids.includes(idOf(one)))) {
      const key = JSON.stringify([row[column.topic] ?? null, row[column.subscriptionId] ?? null]);
      groups.set(key, [...(groups.get(key) ?? []), row]);
    }
    return [...groups.values()].map((rows) => ({
      topic: rows[0]?.[column.topic] ?? null,
      subscriptionId: rows[0]?.[column.subscriptionId] ?? null,
      rows: rows.length,
      oldest: new Date(Math.min(...rows.map(dueMs))),
    }));
  }

  async families(ids: readonly string[]): Promise<readonly (readonly string[])[]> {
    const rows = this.#table.rows.filter((row) => ids.includes(idOf(row)));
    const names = [...new Set(rows.map(familyOf))];
    return names.map((name) => rows.filter((row) => familyOf(row) === name).map(idOf));
  }

  async purge(ids: readonly string[]): Promise<number> {
    const asked = new Set(ids);
    const isGoing = (row: MemoryRow): boolean => asked.has(idOf(row)) && hasEnded(row);
    const families = new Set(this.#table.rows.filter(isGoing).map(familyOf));
    const whole = [...families].map((family) => this.#membersOf(family)).filter((all) => all.every(isGoing));
    const gone = whole.flat().map(idOf);
    this.#table.remove(gone);
    return gone.length;
  }

  #membersOf(family: string): readonly MemoryRow[] {
    return this.#table.rows.filter((row) => familyOf(row) === family);
  }
}

function idOf(row: MemoryRow): string {
  return String(row[column.id]);
}

function byEarliest(a: readonly MemoryRow[], b: readonly MemoryRow[]): number {
  const earliest = (rows: readonly MemoryRow[]): number => Math.min(...rows.map(dueMs));
  return earliest(a) - earliest(b);
}

/** Blocks of whole families; one is full at `blockRows`. */
function inBlocks(families: readonly (readonly MemoryRow[])[], blockRows: number): readonly string[][] {
  const blocks: string[][] = [];
  for (const family of families) {
    const open = blocks.at(-1);
    const ids = family.map(idOf);
    if (open && open.length < blockRows) open.push(...ids);
    else blocks.push(ids);
  }
  return blocks;
}
