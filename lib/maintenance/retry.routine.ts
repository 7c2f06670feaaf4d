import type { Liveness } from '../coordination/liveness.js';
import type { Recovery } from './recovery.js';

/** Fails the attempts of lost workers at its minutes: the safety net below continuous recovery. */
export class RetryRoutine {
  readonly #liveness: Pick<Liveness, 'exclusively'>;
  readonly #recovery: Recovery;

  /** @hidden */
  constructor(liveness: Pick<Liveness, 'exclusively'>, recovery: Recovery) {
    this.#liveness = liveness;
    this.#recovery = recovery;
  }

  /** What its minutes do: nothing, while workers look all the time. */
  async runIfNeeded(): Promise<number | undefined> {
    return this.#recovery.isContinuous ? 0 : this.run();
  }

  /** Runs one round; returns how many attempts were recovered, undefined when another worker runs it now. */
  run(): Promise<number | undefined> {
    return this.#liveness.exclusively('retry', () => this.#recovery.round());
  }
}
