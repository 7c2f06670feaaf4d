import type { ClaimShape } from '../../claiming/claim-request.js';
import type { QueueTables } from '../identifiers.js';
import { nextReservation, statement, type Statement } from '../statement.js';
import {
  counted,
  fromPositions,
  fromTheFront,
  shared,
  single,
  type Look,
  type Shape,
} from './claim-shapes.js';
import { settling } from './settle.js';
import { claimedFields, taskFields } from './task-fields.js';

/** Which of the statements that settle and claim: how it chooses, and where it starts in each route. */
export interface ClaimForm {
  readonly shape: ClaimShape;
  readonly start: 'front' | 'positions';
}

/** Every form is used: a worker's order decides the shape, what it has claimed before the start. */
export const claimForms: readonly ClaimForm[] = (['single', 'counted', 'shared'] as const).flatMap((shape) =>
  (['front', 'positions'] as const).map((start) => ({ shape, start })),
);

const shapes: Readonly<Record<ClaimShape, (look: Look, depth: string) => Shape>> = {
  single,
  counted,
  shared,
};

/** Where each start looks, and the number of its next parameter. */
const starts = {
  front: { suffix: '', look: fromTheFront, next: 10 },
  positions: { suffix: '_bounded', look: fromPositions, next: 16 },
} as const;

/** How a form chooses. Its last parameters are ids to leave out, whether it locks tasks, and how deep to look, when it counts. */
function choosing(queue: string, form: ClaimForm) {
  const { look: lookFrom, next } = starts[form.start];
  const [leftOut, locksTasks, depth] = [`$${next}::bigint[]`, `$${next + 1}::boolean`, `$${next + 2}::int`];
  const look = lookFrom(queue, ` and f.id <> all(${leftOut})`);
  const shape = shapes[form.shape](look, depth);
  return { shape, leftOut, locksTasks, within: look.within };
}

/**
 * Keeps what is claimed from workers of nsj-queue-lib, which take a running attempt without a lock for a crashed one: a task's lock is
 * taken before its claim can be seen, and lasts as long as the session. `refused` are tasks that they have locked.
 */
export const lockingTasks = (locksTasks: string): string => `
locked as materialized (
  select best.id, case when ${locksTasks} then pg_try_advisory_lock(best.id) else true end as got from best
)`;

/**
 * Completes the attempts of the last batch and claims the next one: one round trip, one commit.
 *
 * Parameters: those of {@link settling}; the limit of each route, the limit of all, whether only dead attempts of each route are
 * taken, or only others (null: both); those of the start; ids to leave out; whether tasks are locked for workers of nsj-queue-lib;
 * when it counts, rows that it sees of each route.
 *
 * `exhausted_at` is set when there was less than could be taken: a moment before the snapshot, with nothing visible and
 * unlocked left of what was due until then. The moment is for commits that were under way.
 */
export function settleAndClaim({ queue }: QueueTables, form: ClaimForm): Statement {
  const { shape, leftOut, locksTasks, within } = choosing(queue, form);
  const name = `settle_and_claim_${form.shape}${starts[form.start].suffix}`;
  const text = `-- name: ${name}
with ${settling(queue)},
${shape.choosing},${lockingTasks(locksTasks)},
claimed as (
  update ${queue} f
  set status = 'processando', executor = $5::bigint, reserva = ${nextReservation('f.')}, iniciada_em = clock_timestamp()
  where f.id = any(array(select id from locked where got))${within}
  returning ${taskFields},
    case when f.payload is null and f.id_inicial is not null
      then (select first.payload from ${queue} first where first.id = f.id_inicial) else f.payload end as payload
)
select settled.some as settled_only,${shape.answer}
  (select array_agg(id) from locked where not got) as refused,
  case when (select count(*) from best) < $8::int${shape.nothingLeft}
    and cardinality(${leftOut}) = 0 and not exists (select from locked where not got)
    then now() - interval '100 milliseconds' end as exhausted_at,
  ${claimedFields(queue)}
from settled
left join claimed f on true`;
  return { name: `tarefa_${name}`, text };
}

/** What a claim writes into rows that are locked. Parameters: ids, worker. */
export const tryClaim = statement(
  'try_claim',
  ({ queue }) => `
update ${queue} f
set status = 'processando', executor = $2::bigint, reserva = ${nextReservation('f.')}, iniciada_em = clock_timestamp()
where f.id = any($1::bigint[])`,
);

/**
 * Ids of the attempts that a claim would take, without their texts, for when the server cannot send the answer of a claim.
 * Parameters: those of the claim, without completions.
 */
export function peekClaim({ queue }: QueueTables, form: ClaimForm): Statement {
  const { shape, locksTasks } = choosing(queue, form);
  const text = `-- name: peek_claim
with ${settling(queue)},
${shape.choosing}
select best.id from settled, best where ${locksTasks} is not null`;
  return { name: '', text };
}
