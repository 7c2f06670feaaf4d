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

/** Makes attempts a worker's that this transaction has locked. Parameters: their ids; worker. */
export const take = ({ queue }: QueueTables): string =>
  named(
    'claim',
    `
update ${claimedIds}
straight_join ${queue} f force index (primary) on f.id = j.id
set f.status = 'processando', f.executor = ?, f.reserva = ${nextReservation('f.')}, f.iniciada_em = ${now}`,
  );
