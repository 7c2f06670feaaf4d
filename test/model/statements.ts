import { holds, type Rules } from './rules.js';
import { firstRow, rowAt, withRow, withRows, type Claim, type Row, type State } from './state.js';

/** What a failure says besides its claim. */
export interface FailureRule {
  readonly most: number;
  readonly lost: boolean;
  readonly final: boolean;
}

/** `insert_one`, `insert_many` and the trigger that files future tasks. */
export function insert(state: State, task: number, scheduled: boolean): State {
  return withRows(state, task, [firstRow(scheduled ? 'scheduled' : 'pending')]);
}

/** `promote`: all that is due. When that is, is not the model's business, so anything scheduled may be. */
export function promote(state: State): State {
  return {
    ...state,
    tasks: state.tasks.map((rows) =>
      rows.some(({ status }) => status === 'scheduled')
        ? rows.map((row) => (row.status === 'scheduled' ? { ...row, status: 'pending' } : row))
        : rows,
    ),
  };
}

/** The claim of `settle_and_claim` on one row. */
export function claim(state: State, rules: Rules, { worker, ...place }: Omit<Claim, 'reservation'>): State {
  const reservation = rules.nextReservation(rowAt(state, place));
  return withRow(state, place, { status: 'processing', executor: worker, reservation });
}

/** The completion of `settle_and_claim` (no effect) or `complete` (with one, in the same transaction). */
export function complete(state: State, rules: Rules, held: Claim, effects: 0 | 1): State {
  const row = rowAt(state, held);
  if (row.purged || !rules.mayComplete(row, held)) return state;
  return withRow(state, held, {
    status: 'succeeded',
    effects: row.effects + effects,
    usurped: row.usurped || !holds(row, held),
  });
}

/** `release`. */
export function release(state: State, rules: Rules, held: Claim): State {
  const row = rowAt(state, held);
  if (row.purged || !rules.mayRelease(row, held)) return state;
  return withRow(state, held, {
    status: 'pending',
    executor: undefined,
    usurped: row.usurped || !holds(row, held),
  });
}

/** `fail`: closes the attempt and inserts the next one, or starts the dead chain. */
export function fail(state: State, rules: Rules, held: Claim, rule: FailureRule): State {
  const row = rowAt(state, held);
  if (row.purged || !rules.mayFail(row, held)) return state;
  const retried = rules.isRetried(row, rule);
  const usurped = row.usurped || !holds(row, held);
  const closed = withRow(state, held, { status: 'failed', retried, exhausted: !retried, usurped });
  if (retried) return append(closed, held.task, nextRow(row, held.row, rules.nextLosses(row, rule.lost)));
  return rules.isBuried(row) ? append(closed, held.task, buriedRow(closed, held)) : closed;
}

/** `purge`: whatever may go of a task. How old it is, is not the model's business. */
export function purge(state: State, rules: Rules, task: number): State {
  const rows = state.tasks[task] ?? [];
  return withRows(
    state,
    task,
    rows.map((row, place) => (rules.mayPurge(rows, place) ? { ...row, purged: true } : row)),
  );
}

function append(state: State, task: number, row: Row): State {
  return withRows(state, task, [...(state.tasks[task] ?? []), row]);
}

/** fail.ts `next` */
function nextRow(row: Row, place: number, losses: number): Row {
  return {
    ...firstRow('scheduled'),
    attempt: row.attempt + 1,
    dead: row.dead,
    live: row.live,
    first: row.first ?? place,
    previous: place,
    payload: false,
    losses,
  };
}

/** fail.ts `buried` */
function buriedRow(state: State, held: Claim): Row {
  const rows = state.tasks[held.task] ?? [];
  const row = rowAt(state, held);
  const live = row.first ?? held.row;
  const first = rows[live];
  const payload = row.payload || (first !== undefined && !first.purged && first.payload);
  return { ...firstRow('pending'), dead: true, live, payload };
}
