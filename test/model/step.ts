import type { Rules } from './rules.js';
import type { Attempt, Claim, Place, State } from './state.js';

/**
 * What the handler of a task does: it writes through `ctx.db` or writes nothing, and may throw; it is `innocent` and
 * never throws; or it is `poison` and kills its process each time.
 */
export type Kind = 'transaction' | 'batch' | 'innocent' | 'poison';

/** What the explored world is made of. */
export interface Setting {
  readonly tasks: readonly Kind[];
  readonly workers: number;
  readonly maxAttempts: number;
  /** The same of dead chains. */
  readonly maxDeadAttempts: number;
  /** Faults that may happen in all. */
  readonly faults: number;
  readonly faultKinds: readonly Fault[];
  /** True when a killed worker is replaced by a new one. */
  readonly restarts: boolean;
  /** True when handlers may ask for no further attempt. */
  readonly finals: boolean;
  readonly rules: Rules;
  /** What to look for, when not everything that may be wrong. */
  readonly only?: string;
}

/** What may go wrong. A pause needs no step of its own: every worker may do nothing for as long as it likes. */
export type Fault = 'kill' | 'lose session' | 'lose control' | 'lose commit' | 'give back by hand';

/** One thing that happens. */
export type Step =
  | { readonly kind: 'insert'; readonly task: number; readonly scheduled: boolean }
  | { readonly kind: 'promote' }
  | { readonly kind: 'settle and claim'; readonly worker: number; readonly places: readonly Place[] }
  | { readonly kind: 'flush failures'; readonly worker: number }
  | { readonly kind: 'succeed'; readonly attempt: Attempt }
  | { readonly kind: 'throw'; readonly attempt: Attempt; readonly final: boolean }
  | { readonly kind: 'commit'; readonly attempt: Attempt }
  | { readonly kind: 'read outcome'; readonly attempt: Attempt }
  | { readonly kind: 'kill itself'; readonly attempt: Attempt }
  | { readonly kind: 'compare'; readonly worker: number }
  | { readonly kind: 'give back unknown'; readonly worker: number }
  | { readonly kind: 'late statement arrives'; readonly worker: number; readonly places: readonly Place[] }
  | { readonly kind: 'late statement vanishes'; readonly worker: number }
  | { readonly kind: 'late commit arrives'; readonly claim: Claim }
  | { readonly kind: 'late commit vanishes'; readonly claim: Claim }
  | { readonly kind: 'restore session'; readonly worker: number }
  | { readonly kind: 'find lost'; readonly worker: number; readonly lost: number }
  | { readonly kind: 'recover'; readonly worker: number }
  | { readonly kind: 'purge'; readonly task: number }
  | { readonly kind: 'restart'; readonly worker: number }
  | FaultStep;

/** What is on its way when a worker is killed or a connection is cut. */
export type InFlight = 'nothing' | 'settle' | 'fail' | 'release' | Claim;

type FaultStep =
  | { readonly kind: 'kill'; readonly worker: number; readonly inFlight: InFlight }
  | { readonly kind: 'lose session'; readonly worker: number }
  | { readonly kind: 'lose control'; readonly worker: number; readonly inFlight: InFlight }
  | { readonly kind: 'lose commit'; readonly attempt: Attempt }
  | { readonly kind: 'give back by hand'; readonly place: Place };

const faults: ReadonlySet<string> = new Set<Fault>([
  'kill',
  'lose session',
  'lose control',
  'lose commit',
  'give back by hand',
]);

export function countsAsFault(state: State, step: Step): boolean {
  if (step.kind !== 'settle and claim') return faults.has(step.kind);
  return step.places.length > 0 && state.workers[step.worker]?.locked === false;
}
