import type { Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import { lockAttempts } from '../statements/admin.js';
import { attemptsOfChains, deadChainsOf, deleteAttempts } from '../statements/bulk.js';
import { changedBy, idsOf, rowsOf } from './answered.js';
import { jsonIds } from './id-list.js';

/** An attempt and the task that it is deleted with. */
interface Member {
  readonly task: string;
  readonly id: string;
  readonly isRunning: boolean;
}

/**
 * Deletes tasks of which nothing runs, each with all its attempts and the dead tasks it left; deliveries of a publication are
 * tasks of their own and stay. A task stays when not all its rows could be locked, or when one came while they were: what it
 * consists of is read once more behind the locks.
 *
 * @param run of a transaction
 * @param firstIds of their first attempts
 * @param options.skips whether what another session has locked is left out, instead of waited for
 * @returns how many tasks, and how many attempts they were
 */
export async function deleteWhole(
  run: Run,
  tables: QueueTables,
  firstIds: readonly string[],
  { skips }: { readonly skips: boolean },
): Promise<{ readonly done: number; readonly attempts: number }> {
  const found = await readWhole(run, tables, firstIds);
  if (found.length === 0) return { done: 0, attempts: 0 };
  const list = jsonIds(found.map(({ id }) => id));
  const locked = new Set(idsOf(await rowsOf(run, lockAttempts(tables, 'true', { skips }), [list])));
  const members = await readWhole(run, tables, firstIds);
  const kept = new Set(
    members.filter(({ id, isRunning }) => isRunning || !locked.has(id)).map(({ task }) => task),
  );
  const gone = members.filter(({ task }) => !kept.has(task));
  if (gone.length === 0) return { done: 0, attempts: 0 };
  const attempts = await changedBy(run, deleteAttempts(tables), [jsonIds(gone.map(({ id }) => id))]);
  return { done: new Set(gone.map(({ task }) => task)).size, attempts };
}

/** All attempts of tasks, with their dead chains and those chains' dead chains. */
async function readWhole(
  run: Run,
  tables: QueueTables,
  firstIds: readonly string[],
): Promise<readonly Member[]> {
  /** The task of each chain, by the chain's first attempt. */
  const tasks = new Map(firstIds.map((id) => [id, id]));
  for (let roots: readonly string[] = [...tasks.keys()]; roots.length > 0;) {
    const dead = await rowsOf(run, deadChainsOf(tables), [jsonIds(roots)]);
    const found: string[] = [];
    for (const { root, id } of dead) {
      const task = tasks.get(String(root));
      // By hand, chains may be made to name each other.
      if (task === undefined || id == null || tasks.has(id)) continue;
      tasks.set(id, task);
      found.push(id);
    }
    roots = found;
  }
  const list = jsonIds([...tasks.keys()]);
  const rows = await rowsOf(run, attemptsOfChains(tables), [list, list]);
  return rows.map((row) => ({
    task: tasks.get(String(row['root'])) ?? '',
    id: String(row['id']),
    isRunning: row['status'] === 'processando',
  }));
}
