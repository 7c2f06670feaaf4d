import type { WorkerId } from '../../attempt.js';
import { idNumbers } from '../administration/id-list.js';
import type { Part } from '../claims/one-text.js';
import type { QueueTables } from '../identifiers.js';
import { named, nextReservation } from '../statement.js';
import { after, now } from '../sql-time.js';
import { claimedFields } from './task-fields.js';

/** Ids as JSON. */
export const claimedIds = `json_table(?, '$[*]' columns (id bigint path '$')) j`;

/**
 * The time up to which a claim that finds less than it could take leaves nothing behind: a moment before, for commits that are
 * under way.
 */
export const claimClock = named('claim_clock', `select ${after('-100')} as exhausted_at`);

/** What is told of attempts that this transaction has locked. Parameter: their ids. */
export const readLocked = (tables: QueueTables): string =>
  named('read_locked', `select${claimedFields(tables, claimedIds)}`);

/**
 * Makes attempts a worker's that this transaction has locked. By a list of their ids: where an update joins, MariaDB first notes
 * which rows it will change, which takes half as long as changing them.
 */
export function take({ queue }: QueueTables, ids: readonly string[], workerId: WorkerId): Part {
  const text = named(
    'claim',
    `
update ${queue} f force index (primary)
set f.status = 'processando', f.executor = ?, f.reserva = ${nextReservation('f.')}, f.iniciada_em = ${now}
where f.id in (${idNumbers(ids)})`,
  );
  return { text, values: [workerId] };
}
