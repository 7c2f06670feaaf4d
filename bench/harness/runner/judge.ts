import type { CellLine, PhaseFigures } from '../harness-line.js';

/** Whether a system passed a scenario, by the rule behind the harness's published scores. */
export interface Verdict {
  readonly passed: boolean;
  readonly why: string;
  /** Completions per second after (chaos) or under (pressure) the stress, by those of the baseline. */
  readonly share: number | undefined;
}

/** A share that is printed as 0 % is none. The harness's scores count a recovery to 18 % of the baseline. */
const leastShare = 0.005;

/**
 * Judges a cell; undefined for those that are only measured.
 *
 * Chaos is passed by who completes jobs again afterwards, whatever the rate, and whose processes ended only where the
 * scenario killed them. Pressure is passed by who goes through all phases and ends within its grace when it is told to; how
 * much slower it was does not count.
 */
export function judge(line: CellLine): Verdict | undefined {
  if (line.suite === 'mixed') return undefined;
  const share = shareOf(line);
  if (line.failed !== undefined) return { passed: false, why: line.failed, share };
  return line.suite === 'chaos' ? judgeChaos(share) : judgePressure(line, share);
}

/** By the phase that a suite compares with its baseline. */
export function shareOf({ suite, phases }: CellLine): number | undefined {
  const compared = suite === 'chaos' ? phases.at(-1) : phases.at(-2);
  const baseline = phases.find(({ label }) => label === 'baseline')?.completionRate;
  if (compared?.completionRate === undefined || baseline === undefined || baseline === 0) return undefined;
  return compared.completionRate / baseline;
}

function judgeChaos(share: number | undefined): Verdict {
  if (share === undefined) return { passed: false, why: 'no samples of the recovery', share };
  const passed = share >= leastShare;
  return { passed, why: passed ? 'works again' : 'completes nothing after the stress', share };
}

function judgePressure({ phases, stop }: CellLine, share: number | undefined): Verdict {
  const silent = phases.find(hasNoSamples);
  if (silent !== undefined) return { passed: false, why: `no samples in phase ${silent.label}`, share };
  const passed = stop?.isClean === true;
  return { passed, why: passed ? 'all phases, and a clean end' : 'did not end when it was told to', share };
}

function hasNoSamples({ samples }: PhaseFigures): boolean {
  return samples === 0;
}
