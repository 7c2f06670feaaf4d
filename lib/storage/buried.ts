import { isBuried, statusColumn } from './columns.js';

// Tasks that gave up, and whether a dead handler has dealt with them. One that nobody dealt with is still to be dealt with by hand.
// What belongs to a row is asked for by scalars, so that it is looked up by its index whatever the plan.

/** All tasks that gave up, none, or those that a dead handler has dealt with, or has not. */
export type BuriedChoice = boolean | 'treated' | 'untreated';

/** What the message of a dead task begins with that has succeeded though nobody dealt with it: no dead handler was there, or let run. */
export const untreatedMessage = 'manual intervention is needed';

/** SQL that is true of an attempt of a dead task in which a dead handler has dealt with it. */
export function hasTreated(row: string): string {
  return `(${row}.status = '${statusColumn.succeeded}' and coalesce(${row}.mensagem, '') not like '${untreatedMessage}%')`;
}

/** SQL that is true of a dead task, by its first attempt, that a dead handler has dealt with. */
export function isChainTreated(first: string, queue: string): string {
  return `(${hasTreated(first)}
    or (select a.id from ${queue} a where a.id_inicial = ${first}.id and ${hasTreated('a')} limit 1) is not null)`;
}

/**
 * SQL that is true of the last attempt of a task that gave up when a dead handler has dealt with it since.
 *
 * @param liveId names the task of the first attempt `d` of a dead one, by an index
 */
export function isTreated(row: string, queue: string, liveId: string): string {
  return `((select d.id from ${queue} d
    where d.dead and d.id_anterior is null and ${liveId} = coalesce(${row}.id_inicial, ${row}.id) and d.rodada = ${row}.rodada
      and ${isChainTreated('d', queue)} limit 1) is not null)`;
}

/** SQL that is true of attempts that are what a filter asks of tasks that gave up. */
export function buriedCondition(row: string, asked: BuriedChoice, treated: string): string {
  if (asked === false) return `${isBuried(row)} is not true`;
  if (asked === true) return isBuried(row);
  return `${isBuried(row)} and ${asked === 'treated' ? treated : `not ${treated}`}`;
}
