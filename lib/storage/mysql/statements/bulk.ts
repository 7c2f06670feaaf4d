import type { BulkKind } from '../../admin.js';
import { idList, idParameter } from '../administration/id-list.js';
import type { QueueTables } from '../identifiers.js';
import { named } from '../statement.js';
import type { Conditions } from '../task-conditions.js';
import { hasFailedForGood, isWaiting } from './admin.js';

// What operators do with many tasks at once: the tasks are counted first, then changed in blocks, one commit each.

type Queue = Pick<QueueTables, 'queue'>;

/** Attempts that each kind of work applies to; only the last attempt of a task. */
export const meant = {
  retry: hasFailedForGood,
  cancel: isWaiting,
  delete: `f.reenfileirado is not true and not (f.status <=> 'processando')`,
} as const satisfies Readonly<Record<BulkKind, string>>;

/**
 * How many attempts match, by topic and subscription, and the greatest id among them: later inserts have greater ids. Ids
 * below 1, which only SQL can insert, are not walked. Parameters: those that stand before, and of the conditions.
 */
export const countMeant = ({ queue }: Queue, kind: BulkKind, { begin, conditions }: Conditions): string =>
  named(
    `count_${kind}`,
    `
select f.processo, f.subscriber_id, count(*) as n, min(f.data_hora) as oldest, max(f.id) as last
from ${begin}${queue} f
where ${['f.id > 0', meant[kind], ...conditions].join('\n  and ')}
group by f.processo, f.subscriber_id
order by f.processo, f.subscriber_id`,
  );

/**
 * The next block by id, which locks nothing: a walk that locks would wait for rows that are not meant. Parameters: those that stand
 * before, id that the last block ended at, greatest id, those of the conditions, rows of a block.
 */
export const chooseBlock = ({ queue }: Queue, kind: BulkKind, { begin, conditions }: Conditions): string =>
  named(
    `choose_${kind}`,
    `
select f.id, coalesce(f.id_inicial, f.id) as first_id
from ${begin}${queue} f force index (primary)
where ${[`f.id > ${idParameter} and f.id <= ${idParameter}`, meant[kind], ...conditions].join('\n  and ')}
order by f.id
limit ?`,
  );

/** Dead chains that some tasks left, by the first attempts of both. Parameters: first attempts. */
export const deadChainsOf = ({ queue }: Queue): string =>
  named(
    'dead_chains_of',
    `
select d.morte as root, d.id
from ${idList} j straight_join ${queue} d force index (dead) on d.morte = j.id`,
  );

/** All attempts of some chains. Parameters: first attempts, twice. */
export const attemptsOfChains = ({ queue }: Queue): string =>
  named(
    'attempts_of_chains',
    `
select j.id as root, f.id, f.status
from ${idList} j straight_join ${queue} f force index (primary) on f.id = j.id
union
select j.id, f.id, f.status
from ${idList} j straight_join ${queue} f force index (attempts) on f.id_inicial = j.id`,
  );

/** Deletes attempts that are locked. Parameters: ids. */
export const deleteAttempts = ({ queue }: Queue): string =>
  named(
    'delete_attempts',
    `delete f from ${idList} j straight_join ${queue} f force index (primary) on f.id = j.id`,
  );
