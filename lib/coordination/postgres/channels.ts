import { createHash } from 'node:crypto';

/** Name of a channel that a queue's processes use among themselves. The table's name may be too long for it. */
function channel(purpose: string, qualifiedTable: string): string {
  return `tarefa_${purpose}_${createHash('sha256').update(qualifiedTable).digest('hex').slice(0, 32)}`;
}

/** Where workers hear that one of them has looked who is lost. */
export const looksChannel = (qualifiedTable: string): string => channel('looks', qualifiedTable);

/** Where workers hear that a caller waits for a task: id of its first attempt, and for how many ms. */
export const waitsChannel = (qualifiedTable: string): string => channel('waits', qualifiedTable);

/** Where it is said that such a task has ended: id of its first attempt. */
export const endsChannel = (qualifiedTable: string): string => channel('ends', qualifiedTable);
