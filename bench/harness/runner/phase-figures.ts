import { median, round } from '../../statistics.js';
import type { Metric, SampleRecord } from '../adapter/records.js';
import type { CellLine, PhaseFigures } from '../harness-line.js';
import type { Phase, PhaseType } from './cells.js';

/** A sample, with the phase in which it arrived. */
export interface PhaseSample {
  readonly phase: string;
  readonly sample: SampleRecord;
}

/** Chaos, in the harness's words: what recovery is counted from. */
const chaos: readonly PhaseType[] = [
  'kill-worker',
  'start-worker',
  'repeated-kill',
  'postgres-restart',
  'pg-backend-kill',
  'pool-exhaustion',
];
/** Of the baseline; the harness calls a system recovered from there on. */
const recoveredShare = 0.9;

interface Tick {
  readonly atMs: number;
  readonly value: number;
}

/** Makes the figures of a cell from its samples, as the harness makes its summary. */
export class CellFigures {
  readonly #phases: readonly Phase[];
  readonly #samples: readonly PhaseSample[];
  readonly #everyMs: number;

  constructor(phases: readonly Phase[], samples: readonly PhaseSample[], sampleEverySeconds: number) {
    this.#phases = phases;
    this.#samples = samples;
    this.#everyMs = sampleEverySeconds * 1_000;
  }

  /** Without the warm-up, as in the harness's summary. */
  phases(): readonly PhaseFigures[] {
    return this.#phases
      .filter(({ type }) => type !== 'warmup')
      .map(({ label, type, seconds }) => {
        const rates = this.#ticks([label], 'completion_rate');
        return {
          label,
          type,
          seconds,
          samples: rates.length,
          ...named('completionRate', rates),
          ...named('enqueueRate', this.#ticks([label], 'enqueue_rate')),
          ...named('claimP99Ms', this.#ticks([label], 'claim_p99_ms')),
          ...named('depth', this.#ticks([label], 'queue_depth')),
        };
      });
  }

  /** What the harness tells of chaos; nothing for a cell without. */
  recovery(): Pick<CellLine, 'jobsLost' | 'recoverySeconds'> {
    const stressed = this.#phases.filter(({ type }) => chaos.includes(type)).map(({ label }) => label);
    const last = this.#phases.at(-1)?.label;
    if (stressed.length === 0 || last === undefined) return {};
    const total = (metric: Metric): number =>
      this.#ticks([...stressed, last], metric).reduce((sum, { value }) => sum + value, 0) *
      (this.#everyMs / 1_000);
    const baseline = median(this.#ticks(['baseline'], 'completion_rate').map(({ value }) => value));
    const chaosEnd = this.#ticks(stressed, 'completion_rate').at(-1)?.atMs;
    const recovered = this.#ticks([last], 'completion_rate').find(
      ({ value }) => value >= baseline * recoveredShare,
    );
    return {
      jobsLost: Math.max(0, Math.round(total('enqueue_rate') - total('completion_rate'))),
      ...(chaosEnd === undefined || recovered === undefined
        ? {}
        : { recoverySeconds: round((recovered.atMs - chaosEnd) / 1_000) }),
    };
  }

  /**
   * One value per boundary of the clock, at which all replicas tell theirs: rates add up, of the others the greatest counts.
   */
  #ticks(labels: readonly string[], metric: Metric): readonly Tick[] {
    const ticks = new Map<number, number>();
    for (const { phase, sample } of this.#samples) {
      if (sample.metric !== metric || !labels.includes(phase)) continue;
      const tick = Math.round(Date.parse(sample.t) / this.#everyMs);
      const before = ticks.get(tick) ?? 0;
      ticks.set(tick, metric.endsWith('_rate') ? before + sample.value : Math.max(before, sample.value));
    }
    return [...ticks]
      .toSorted(([a], [b]) => a - b)
      .map(([tick, value]) => ({ atMs: tick * this.#everyMs, value }));
  }
}

function named(name: keyof PhaseFigures, ticks: readonly Tick[]): Partial<PhaseFigures> {
  return ticks.length === 0 ? {} : { [name]: round(median(ticks.map(({ value }) => value))) };
}
