import { idList, idParameter, lockedList } from '../administration/id-list.js';
import type { QueueTables } from '../identifiers.js';
import { after } from '../sql-time.js';
import { named } from '../statement.js';

type Queue = Pick<QueueTables, 'queue'>;

const hasEnded = (row: string): string => `${row}.status in ('sucesso', 'falha', 'falha_processando')`;

/** Some days ago. Parameters: days. */
const limit = after('? * -86400000');

/** An attempt that has ended and was due longer ago than that. `falha_processando` is nsj-queue-lib's. Parameters: days. */
const isOver = (row: string): string => `coalesce(${hasEnded(row)} and ${row}.data_hora < ${limit}, 0)`;

/**
 * A family is deleted as a whole or not at all: a chain with all its attempts and replays, and its dead chains. Its name is
 * the id of the chain's first attempt, even when that row is gone.
 */
const familyOf = (row: string): string =>
  `case when ${row}.dead then coalesce(${row}.live_id, ${row}.id_inicial, ${row}.id) else coalesce(${row}.id_inicial, ${row}.id) end`;

/**
 * The next rows by their key, each with its family. No index orders by time and leads to the rows, and a walk from the beginning
 * would meet the traces of all earlier deletions. Parameters: days, days, id to look behind, id to look before, rows.
 */
export const lookForPurgeable = ({ queue }: Queue): string =>
  named(
    'find_purgeable',
    `
select f.id, f.data_hora as due, ${familyOf('f')} as family, ${isOver('f')} as is_over, coalesce(f.data_hora < ${limit}, 0) as old
from ${queue} f force index (primary)
where f.id > ${idParameter} and f.id < ${idParameter}
order by f.id
limit ?`,
  );

/** All attempts of some families; an index of its own finds each part. */
const membersOf = (queue: string, fields: (row: string) => string): string => `
select j.id as family, ${fields('f')} from ${idList} j straight_join ${queue} f force index (primary) on f.id = j.id
union all
select j.id, ${fields('f')} from ${idList} j straight_join ${queue} f force index (attempts) on f.id_inicial = j.id
union all
select j.id, ${fields('d')} from ${idList} j straight_join ${queue} d force index (dead) on d.morte = j.id
union all
select j.id, ${fields('f')} from ${idList} j straight_join ${queue} d force index (dead) on d.morte = j.id
  straight_join ${queue} f force index (attempts) on f.id_inicial = d.id`;

/** Whether all attempts of families are over. Parameters: days and families, four times. */
export const familyMembers = ({ queue }: Queue): string =>
  named(
    'family_members',
    membersOf(queue, (row) => `${row}.id, ${isOver(row)} as is_over`),
  );

/** Attempts of families. Parameters: families, four times. */
export const familyIds = ({ queue }: Queue): string =>
  named(
    'family_ids',
    membersOf(queue, (row) => `${row}.id`),
  );

/** Attempts, each with its family. Parameters: ids. */
export const familiesAmong = ({ queue }: Queue): string =>
  named(
    'families_among',
    `
select f.id, ${familyOf('f')} as family
from ${idList} j straight_join ${queue} f force index (primary) on f.id = j.id
order by f.id`,
  );

/**
 * Locks attempts that have ended, so that no operator can start them again. Rows that another session has locked are skipped
 * until the next call. Parameters: ids.
 */
export const lockPurgeable = ({ queue }: Queue): string =>
  named(
    'lock_purgeable',
    `
select f.id, ${familyOf('f')} as family
from ${lockedList} j straight_join ${queue} f force index (primary) on f.id = j.id
where ${hasEnded('f')}
for update skip locked`,
  );
