import { greatestId, leastId } from '../../../values/attempt-id.js';
import { readBoolean } from '../../columns.js';
import type { PurgeableWindow, PurgeLook } from '../../upkeep.js';
import { rowsOf } from '../administration/answered.js';
import { jsonIds } from '../administration/id-list.js';
import type { TextRow } from '../connections/answers.js';
import type { Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import { familyMembers, lookForPurgeable } from '../statements/purge.js';

/** Attempts of a task and of its dead chains. */
interface Family {
  readonly name: string;
  /** When the first of them was due that were met; null is never. */
  due: string | null;
  readonly ids: Set<string>;
  isOver: boolean;
}

/** Reads one window of {@link PurgeLook}: rows by their key, then the others of those families that may all go. */
export async function findPurgeable(
  run: Run,
  tables: Pick<QueueTables, 'queue'>,
  { olderThanDays: days, after, before, rows, blockRows }: PurgeLook,
): Promise<PurgeableWindow> {
  const from = after ?? String(leastId);
  const looked = await rowsOf(run, lookForPurgeable(tables), [
    days,
    days,
    from,
    before ?? String(greatestId),
    rows,
  ]);
  const families = gather(looked);
  const ended = [...families.values()].filter(({ isOver }) => isOver);
  if (ended.length > 0) {
    const list = jsonIds(ended.map(({ name }) => name));
    const values = [days, list, days, list, days, list, days, list];
    for (const row of await rowsOf(run, familyMembers(tables), values)) {
      const family = families.get(String(row['family']));
      if (!family) continue;
      family.ids.add(String(row['id']));
      family.isOver &&= readBoolean(row['is_over']);
    }
  }
  const kept = looked.find((row) => !families.get(String(row['family']))?.isOver);
  return {
    blocks: blocksOf(
      ended.filter(({ isOver }) => isOver),
      blockRows,
    ),
    last: looked.at(-1)?.['id'] ?? undefined,
    keptFrom: kept?.['id'] ?? undefined,
    goesOn: looked.length === rows && looked.some((row) => readBoolean(row['old'])),
  };
}

function gather(looked: readonly TextRow[]): ReadonlyMap<string, Family> {
  const families = new Map<string, Family>();
  for (const { id, due = null, family: name, is_over: over } of looked) {
    const known = families.get(String(name));
    if (!known) {
      const isOver = readBoolean(over);
      families.set(String(name), { name: String(name), due, ids: new Set([String(id)]), isOver });
      continue;
    }
    known.ids.add(String(id));
    known.isOver &&= readBoolean(over);
    if (due !== null && (known.due === null || due < known.due)) known.due = due;
  }
  return families;
}

/** Whole families, the oldest first. */
function blocksOf(families: readonly Family[], blockRows: number): readonly (readonly string[])[] {
  const blocks: string[][] = [];
  let [rows, place] = [0, -1];
  for (const { ids } of families.toSorted(byAge)) {
    const own = Math.floor(rows / blockRows);
    if (own !== place) blocks.push([]);
    place = own;
    blocks.at(-1)?.push(...ids);
    rows += ids.size;
  }
  return blocks;
}

function byAge(one: Family, other: Family): number {
  const [first, second] = [one.due ?? '', other.due ?? ''];
  if (first !== second) return first < second ? -1 : 1;
  return BigInt(one.name) < BigInt(other.name) ? -1 : 1;
}
