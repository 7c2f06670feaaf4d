import { holds } from './rules.js';
import {
  heldBy,
  isUnfinished,
  rowAt,
  type Attempt,
  type Claim,
  type LateStatement,
  type Row,
  type State,
  type Worker,
} from './state.js';

/**
 * A text that is equal for states that have the same future. Workers are interchangeable, so they are named by
 * their rank among each other.
 *
 * With the fence in place more states are the same. A claim that does not hold its row now never will again: the
 * row has ended, or its reservation has grown. So a statement that shows such a claim changes nothing, whenever it
 * comes, and all other claims on a row have its reservation. A mutant without the fence is explored to the letter.
 */
export function encode(state: State, isFenced: boolean): string {
  const order = state.workers.map((_, place) => place);
  const looks = state.workers.map((worker, place) => sketch(state, worker, place));
  order.sort((one, other) => compareTexts(looks[one] ?? '', looks[other] ?? ''));
  const rank: number[] = [];
  for (const [place, worker] of order.entries()) rank[worker] = place;

  const words = new Words(state, rank, isFenced);
  let text = String(state.faults);
  for (const rows of state.tasks) text += `|${words.ofRows(rows)}`;
  for (const worker of order) text += `|${words.ofWorker(state.workers[worker] as Worker)}`;
  return text;
}

/** What tells a worker from the others, without naming any. */
function sketch(state: State, worker: Worker, place: number): string {
  let text = flagsOf(worker);
  for (const { task, row, phase } of worker.attempts) text += `(${task}${row}${phase}`;
  for (const { task, row } of heldBy(state, place)) text += `h${task}${row}`;
  for (const { task, row } of worker.lateCommits) text += `c${task}${row}`;
  return text + (worker.late?.kind ?? '') + (worker.recovering ? 'R' : '');
}

function flagsOf({ up, locked, unsure }: Worker): string {
  return String.fromCharCode(65 + Number(up) + 2 * Number(locked) + 4 * Number(unsure));
}

function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** Says one state, its workers called by their ranks. */
class Words {
  readonly #state: State;
  readonly #rank: readonly number[];
  readonly #isFenced: boolean;

  constructor(state: State, rank: readonly number[], isFenced: boolean) {
    this.#state = state;
    this.#rank = rank;
    this.#isFenced = isFenced;
  }

  ofRows(rows: readonly Row[]): string {
    // What has ended stays as it is, but for a purge.
    if (this.#isFenced && rows.length > 0 && !rows.some(isUnfinished)) return 'e';
    let text = '';
    for (const row of rows) {
      text += rowLetter(row);
      if (row.status === 'processing' || !this.#isFenced) {
        text += row.executor === undefined ? '-' : this.#rank[row.executor];
      }
      if (!this.#isFenced) text += `.${row.reservation}`;
    }
    return text;
  }

  ofWorker(worker: Worker): string {
    const { compared, recovering, late } = worker;
    let text = flagsOf(worker);
    text += this.#ofAttempts(worker.attempts);
    if (compared) text += `=${this.#ofClaims(compared)}`;
    const lost = recovering && this.#ofClaims(recovering);
    if (lost !== undefined && (lost !== '' || !this.#isFenced)) text += `>${lost}`;
    if (late) text += this.#ofLate(late);
    const commits = this.#ofClaims(worker.lateCommits);
    return commits === '' ? text : `${text}!${commits}`;
  }

  /** In no order: what was claimed first is all one. */
  #ofAttempts(attempts: readonly Attempt[]): string {
    if (attempts.length === 0) return '';
    const parts = attempts.map((attempt) => this.#ofAttempt(attempt));
    return (this.#isFenced ? parts.sort() : parts).join('');
  }

  #ofAttempt(attempt: Attempt): string {
    const { task, row, reservation, phase, final } = attempt;
    if (!this.#isFenced) return `(${task}.${row}.${reservation}${phase}${final}`;
    if (this.#holds(attempt)) return `(${task}${row}${phase[0]}${phase[1]}${final ? 'f' : ''}`;
    // Its outcome will be refused, whatever it is; what counts is who has yet to hear of that.
    return phase === 'running' || phase === 'unknown' ? `(${task}z` : `(${phase[0]}`;
  }

  #ofClaims(claims: readonly Claim[]): string {
    let text = '';
    for (const claim of claims) {
      if (this.#isFenced && !this.#holds(claim)) continue;
      const { task, row, worker, reservation } = claim;
      text += `${task}${row}${this.#rank[worker]}${this.#isFenced ? '' : `.${reservation}`};`;
    }
    return text;
  }

  #ofLate(late: LateStatement): string {
    if (late.kind === 'settle') return `S${late.demands.join()}${this.#ofClaims(late.completions)}`;
    if (late.kind === 'release') return `L${this.#ofClaims(late.claims)}`;
    return `F${late.failures.map((one) => `${this.#ofClaims([one])}${one.final}`).join('')}`;
  }

  #holds(claim: Claim): boolean {
    const row = rowAt(this.#state, claim);
    return !row.purged && holds(row, claim);
  }
}

/** One character for every row there is but for its claim, which other words are needed for each time. */
const letters = new Map<string, string>();
const letterOf = new WeakMap<Row, string>();

function rowLetter(row: Row): string {
  const known = letterOf.get(row);
  if (known !== undefined) return known;
  const { status, attempt, dead, first, previous, live, payload, losses } = row;
  const { retried, exhausted, purged, effects, usurped } = row;
  const written = [effects, usurped];
  const names = [status, attempt, dead, first, previous, live, payload, retried, exhausted];
  // What an ended attempt has lost was copied to the next one.
  const text = (purged ? written : [...names, isUnfinished(row) && losses, ...written]).join();
  const letter = letters.get(text) ?? String.fromCharCode(256 + letters.size);
  letters.set(text, letter);
  letterOf.set(row, letter);
  return letter;
}
