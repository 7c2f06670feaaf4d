import type { Claim } from '../../attempt.js';
import type { WorkerId } from '../../attempt.js';
import type { QueueTables } from '../identifiers.js';
import { named, routeExpression } from '../statement.js';

// Rows that workers hold: how statements find those of a claim, and what is read of them.

type Queue = Pick<QueueTables, 'queue'>;

/** A claim and the worker that it is demanded of. */
export interface HeldClaim extends Claim {
  readonly workerId: WorkerId;
}

/** The parameter of {@link claimRows}. */
export function claimsJson(claims: readonly HeldClaim[]): string {
  return JSON.stringify(
    claims.map(({ id, reservation, workerId }) => ({ id, reservation, worker: workerId })),
  );
}

/** A parameter that is a JSON array of claims, as rows `x`. */
const claimRows = `json_table(?, '$[*]' columns (
  id bigint path '$.id', reservation int path '$.reservation', worker bigint path '$.worker'
)) x`;

/** The parameter of {@link idRows}. */
export function idsJson(ids: readonly string[]): string {
  return JSON.stringify(ids);
}

/** A parameter that is a JSON array of ids, as rows `x`. */
export const idRows = `json_table(?, '$[*]' columns (id bigint path '$')) x`;

/** Rows `f` of the queue by the ids of `x`, found by their key one by one: a plan that reads the table would lock all of it. */
export const byKey = (queue: string): string =>
  `straight_join ${queue} f force index (primary) on f.id = x.id`;

/**
 * Locks the rows of claims that still hold, but for those that another session has locked. The claims are read in a table of their
 * own, because MySQL would lock those as well and says that it cannot. Parameters: claims.
 */
export const lockHeld = ({ queue }: Queue): string =>
  named(
    'lock_held',
    `
select f.id
from (select * from ${claimRows}) x
${byKey(queue)}
where f.reserva = x.reservation and f.executor = x.worker and f.status = 'processando'
for update skip locked`,
  );

/** Locks rows that stand so, but for those that another session has locked; returns their routes. Parameters: ids, status. */
export const lockFree = ({ queue }: Queue): string =>
  named(
    'lock_free',
    `
select f.id, ${routeExpression('f.')} as route
from (select * from ${idRows}) x
${byKey(queue)}
where f.status = ?
for update skip locked`,
  );

/** The columns of a row that a task shows, its route, and when a dead task's first attempt was due. */
const heldFields = (queue: string): string => `
  f.id, f.reserva, f.tentativa, f.id_inicial, f.processo, f.origem, f.destino, f.chave_externa, f.tenant,
  f.grupo_empresarial, f.prioridade, f.data_hora, f.data_hora_inicial, f.publication_id, f.subscriber_id,
  f.pub_sub, f.dead, f.live_id, f.perdas, f.metadados, f.chave_fila, ${routeExpression('f.')} as route,
  case when f.dead then (select live.data_hora_inicial from ${queue} live where live.id = f.live_id) end as key_time`;

/**
 * Rows that a worker holds, in no order. For recovery the answer is empty once the worker is back: it claims only after that is
 * written down. Parameters: worker, whether for recovery, worker, limit.
 */
export const readHeld = ({ queue, workers }: Pick<QueueTables, 'queue' | 'workers'>): string =>
  named(
    'read_held',
    `
select ${heldFields(queue)}
from ${queue} f force index (running)
where f.executor_ativo = cast(? as signed)
  and not (? and exists (
    select 1 from ${workers} w
    where w.id = cast(? as signed) and w.missed_at is null and w.stopped_at is null
  ))
limit ?`,
  );

/** Which of some attempts a worker holds or has completed, and which of these were cancelled. Parameters: ids, worker. */
export const standing = ({ queue }: Queue): string =>
  named(
    'standing',
    `
select f.id, f.reserva, f.cancelada_por is not null as cancelled, f.status = 'sucesso' as completed
from ${idRows}
${byKey(queue)}
where f.status in ('processando', 'sucesso') and f.executor = cast(? as signed)`,
  );

/**
 * Reads how an attempt ended whose COMMIT was never answered. The lock makes it wait for the old transaction, should that
 * still be committing. Parameters: id.
 */
export const readOutcome = ({ queue }: Queue): string =>
  named(
    'read_outcome',
    `select f.status, f.executor, f.reserva from ${queue} f where f.id = cast(? as signed) for update`,
  );
