import type { ClaimShape } from '../../claiming/claim-request.js';
import type { QueueTables } from '../identifiers.js';
import { nextReservation, statement, type Statement } from '../statement.js';
import {
  counted,
  fromPositions,
  fromStretches,
  fromTheFront,
  shared,
  single,
  type Look,
  type Shape,
} from './claim-shapes.js';
import { settling } from './settle.js';
import { claimedFields, taskFields } from './task-fields.js';

/** Where a claim starts in each route. */
export type ClaimStart = 'front' | 'positions' | 'stretches';

/**
 * What keeps other workers from a claimed row: its lock, and for workers of nsj-queue-lib the task's lock as well (`task`). While
 * rows are apart that cannot be changed, a claim leaves them out (`apart`), as those with task locks always can.
 */
export type ClaimLock = 'row' | 'apart' | 'task';

/** Which of the statements that settle and claim. */
export interface ClaimForm {
  readonly shape: ClaimShape;
  readonly start: ClaimStart;
  readonly lock: ClaimLock;
}

/**
 * Every form is used: a worker's order decides the shape, what it has claimed before the start, `interop` the lock. While rows are
 * apart a claim starts at the front, in the two shapes that are right for any number of routes.
 */
export const claimForms: readonly ClaimForm[] = [
  ...(['single', 'counted', 'shared'] as const).flatMap((shape) =>
    (['front', 'positions', 'stretches'] as const).flatMap((start) => [
      { shape, start, lock: 'row' } as const,
      { shape, start, lock: 'task' } as const,
    ]),
  ),
  ...(['counted', 'shared'] as const).map((shape) => ({ shape, start: 'front', lock: 'apart' }) as const),
];

const shapes: Readonly<Record<ClaimShape, (look: Look, depth: string) => Shape>> = {
  single,
  counted,
  shared,
};

const starts = {
  front: { suffix: '', look: fromTheFront, next: 10 },
  positions: { suffix: '_bounded', look: fromPositions, next: 14 },
  stretches: { suffix: '_stretches_bounded', look: fromStretches, next: 14 },
} as const;

/** How claims keep what they take from others. */
interface LockText {
  readonly suffix: string;
  /** Condition on rows. */
  readonly except: (leftOut: string) => string;
  /** Part of the statement after `best`. */
  readonly locking: string;
  /** Rows that are claimed. */
  readonly claimed: string;
  /** What the answer says besides. */
  readonly answer: string;
  /** Condition under which nothing was left that could have been taken. */
  readonly nothingLeft: (leftOut: string) => string;
}

const leftOutOf = (leftOut: string): string => ` and f.id <> all(${leftOut})`;

const locks: Readonly<Record<ClaimLock, LockText>> = {
  row: {
    suffix: '',
    except: () => '',
    locking: '',
    claimed: 'best',
    answer: '',
    nothingLeft: () => '',
  },
  apart: {
    suffix: '_apart',
    except: leftOutOf,
    locking: '',
    claimed: 'best',
    answer: '',
    nothingLeft: (leftOut) => ` and cardinality(${leftOut}) = 0`,
  },
  /**
   * A task's lock is taken before its claim can be seen, and lasts as long as the session: workers of nsj-queue-lib take a
   * running attempt without a lock for a crashed one. `refused` are tasks that they have locked.
   */
  task: {
    suffix: '_interop',
    except: leftOutOf,
    locking: `
locked as materialized (
  select best.id, pg_try_advisory_lock(best.id) as got from best
),`,
    claimed: 'locked where got',
    answer: `
  (select array_agg(id) from locked where not got) as refused,`,
    nothingLeft: (leftOut) =>
      ` and cardinality(${leftOut}) = 0 and not exists (select from locked where not got)`,
  },
};

/** How a form chooses. Its last parameters are ids to leave out, unless only rows are locked, and how deep to look, when it counts. */
function choosing(
  queue: string,
  form: ClaimForm,
): { readonly shape: Shape; readonly leftOut: string; readonly within: string } {
  const { look: lookFrom, next } = starts[form.start];
  const lock = locks[form.lock];
  const leftOut = `$${next}::bigint[]`;
  const depth = `$${form.lock === 'row' ? next : next + 1}::int`;
  const look = lookFrom(queue, lock.except(leftOut));
  return { shape: shapes[form.shape](look, depth), leftOut, within: look.within };
}

/**
 * Completes the attempts of the last batch and claims the next one: one round trip, one commit.
 *
 * Parameters: those of {@link settling}; the route and limit of each stretch, the limit of all, whether only dead
 * attempts of each stretch are taken, or only others (null: both); from positions, the highest and the lowest priority of
 * each stretch, the time it starts at, and the least id that is looked at; unless only rows are locked, ids to leave out; when it counts, rows that it sees of each stretch.
 *
 * `exhausted_at` is set when there was less than could be taken: a moment before the snapshot, with nothing visible and
 * unlocked left of what was due until then. The moment is for commits that were under way.
 */
export function settleAndClaim({ queue }: QueueTables, form: ClaimForm): Statement {
  const { suffix } = starts[form.start];
  const lock = locks[form.lock];
  const { shape, leftOut, within } = choosing(queue, form);
  const name = `settle_and_claim_${form.shape}${suffix}${lock.suffix}`;
  const text = `-- name: ${name}
with ${settling(queue)},
${shape.choosing},${lock.locking}
claimed as (
  update ${queue} f
  set status = 'processando', executor = $5::bigint, reserva = ${nextReservation('f.')}, iniciada_em = clock_timestamp()
  where f.id = any(array(select id from ${lock.claimed}))${within}
  returning ${taskFields},
    case when f.payload is null and f.id_inicial is not null
      then (select first.payload from ${queue} first where first.id = f.id_inicial) else f.payload end as payload
)
select settled.some as settled_only,${shape.answer}${lock.answer}
  case when (select count(*) from best) < $8::int${shape.nothingLeft}${lock.nothingLeft(leftOut)}
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
  const { shape } = choosing(queue, form);
  const text = `-- name: peek_claim
with ${settling(queue)},
${shape.choosing}
select best.id from settled, best`;
  return { name: '', text };
}
