import { describe, expect, it } from 'vitest';
import { RollingPercentiles } from '../../bench/harness/adapter/rolling-percentiles.js';
import type { Metric, SampleRecord } from '../../bench/harness/adapter/records.js';
import type { CellLine, PhaseFigures } from '../../bench/harness/harness-line.js';
import { makeHarnessPage } from '../../bench/harness/report/harness-page.js';
import { published } from '../../bench/harness/report/published.js';
import { cells, type Phase } from '../../bench/harness/runner/cells.js';
import { judge } from '../../bench/harness/runner/judge.js';
import { CellFigures, type PhaseSample } from '../../bench/harness/runner/phase-figures.js';

describe('verdicts of the harness’s scenarios', () => {
  it('passes chaos when jobs are completed again, at whatever rate', () => {
    expect(judge(cellLine({ suite: 'chaos', after: 108 }))).toMatchObject({ passed: true, share: 0.18 });
    expect(judge(cellLine({ suite: 'chaos', after: 2 }))).toMatchObject({ passed: false });
    expect(judge(cellLine({ suite: 'chaos', after: undefined }))).toMatchObject({
      passed: false,
      why: 'no samples of the recovery',
    });
    expect(judge({ ...cellLine({ suite: 'chaos', after: 600 }), failed: 'a worker ended' })).toMatchObject({
      passed: false,
      why: 'a worker ended',
    });
  });

  it('passes pressure when all phases were gone through and the end was clean, however slow', () => {
    const slow = cellLine({ suite: 'pressure', under: 30, after: 0 });
    expect(judge(slow)).toMatchObject({ passed: true, share: 0.05 });
    expect(judge({ ...slow, stop: { tookMs: 10_000, isClean: false } })).toMatchObject({ passed: false });
    const silent = cellLine({ suite: 'pressure', under: undefined, after: 600 });
    expect(judge(silent)).toMatchObject({ passed: false, why: 'no samples in phase stress' });
  });

  it('gives the published systems the scores that were published', () => {
    const scores = published.map(({ name, chaosPassed, pressurePassed }) => [
      name.split(' ')[0],
      `${chaosPassed}/5 ${pressurePassed}/4`,
    ]);
    expect(Object.fromEntries(scores)).toEqual({
      awa: '5/5 4/4',
      pgque: '5/5 4/4',
      river: '5/5 2/4',
      oban: '4/5 4/4',
      'pg-boss': '3/5 2/4',
      absurd: '3/5 2/4',
      procrastinate: '3/5 2/4',
      pgmq: '3/5 2/4',
    });
    const names = new Set(cells.map(({ name }) => name));
    for (const { chaos, pressure } of published) {
      for (const name of [...Object.keys(chaos), ...Object.keys(pressure)]) expect(names).toContain(name);
    }
  });
});

describe('figures of a cell', () => {
  const phases: readonly Phase[] = [
    { label: 'warmup', type: 'warmup', seconds: 2 },
    { label: 'baseline', type: 'clean', seconds: 2 },
    { label: 'kill', type: 'kill-worker', seconds: 2 },
    { label: 'recovery', type: 'clean', seconds: 2 },
  ];

  it('adds up the rates of replicas that tell them at one boundary, a little apart', () => {
    const figures = new CellFigures(
      phases,
      [
        ...replicas('baseline', 10, 'completion_rate', [300, 310]),
        ...replicas('baseline', 11, 'completion_rate', [290, 300]),
        ...replicas('baseline', 11, 'claim_p99_ms', [40, 90]),
        ...replicas('warmup', 9, 'completion_rate', [5, 5]),
      ],
      1,
    );
    const [baseline, kill] = figures.phases();
    expect(baseline).toMatchObject({ label: 'baseline', samples: 2, completionRate: 600, claimP99Ms: 90 });
    expect(kill).toMatchObject({ label: 'kill', samples: 0 });
    expect(kill).not.toHaveProperty('completionRate');
  });

  it('finds when 90 % of the baseline is reached again, and what the rates say was lost', () => {
    const figures = new CellFigures(
      phases,
      [
        ...replicas('baseline', 10, 'completion_rate', [600]),
        ...replicas('kill', 12, 'completion_rate', [0]),
        ...replicas('kill', 12, 'enqueue_rate', [300]),
        ...replicas('recovery', 13, 'completion_rate', [500]),
        ...replicas('recovery', 14, 'completion_rate', [550]),
        ...replicas('recovery', 14, 'enqueue_rate', [1_000]),
      ],
      1,
    );
    expect(figures.recovery()).toEqual({ jobsLost: 250, recoverySeconds: 2 });
  });
});

it('keeps percentiles of the last seconds to three digits', () => {
  const waits = new RollingPercentiles(30);
  for (let value = 1; value <= 1_000; value += 1) waits.add(5_000, value);
  expect(waits.at(5_000, 0.5) / 500).toBeCloseTo(1, 2);
  expect(waits.at(34_999, 0.99) / 990).toBeCloseTo(1, 2);
  waits.add(34_999, 7);
  expect(waits.at(35_000, 0.99)).toBeCloseTo(7, 1);
  expect(waits.at(100_000, 0.99)).toBe(0);
});

it('shows scores and every failure with its reason', () => {
  const page = makeHarnessPage(
    [
      cellLine({ suite: 'chaos', after: 590 }),
      { ...cellLine({ suite: 'chaos', after: 0 }), system: 'graphile-worker' },
    ],
    '## Notes',
  );
  expect(page).toContain('| **tarefa** | job queue | 1 of 1 | not run | here |');
  expect(page).toContain('| **graphile-worker** | job queue | 0 of 1 | not run | here |');
  expect(page).toContain('**failed** 0 %: completes nothing after the stress');
  expect(page).toContain('| awa | job queue | 5 of 5 | 4 of 4 | published |');
});

function cellLine(figures: {
  readonly suite: CellLine['suite'];
  readonly under?: number | undefined;
  readonly after: number | undefined;
}): CellLine {
  const { suite, under, after } = figures;
  return {
    type: 'cell',
    ...{ system: 'tarefa', version: '0', cell: suite === 'chaos' ? 'postgres_restart' : 'idle_in_tx', suite },
    phases: [phase('baseline', 600), phase('stress', under), phase('recovery', after)],
    stop: { tookMs: 200, isClean: true },
  };
}

function phase(label: string, completionRate: number | undefined): PhaseFigures {
  return {
    ...{ label, type: 'clean', seconds: 7, samples: completionRate === undefined ? 0 : 7 },
    ...(completionRate === undefined ? {} : { completionRate }),
  };
}

function replicas(label: string, second: number, metric: Metric, values: readonly number[]): PhaseSample[] {
  return values.map((value, instance) => ({
    phase: label,
    sample: {
      ...{ kind: 'adapter', system: 'tarefa', subject_kind: 'adapter', subject: '', window_s: 1 },
      // One is a little late.
      t: new Date(second * 1_000 + instance * 40).toISOString(),
      instance_id: instance,
      metric,
      value,
    } satisfies SampleRecord,
  }));
}
