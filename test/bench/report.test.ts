import { describe, expect, it } from 'vitest';
import { barChart } from '../../bench/report/bar-chart.js';
import { benchGoals } from '../../bench/report/bench-page.js';
import { spreadOut } from '../../bench/report/line-chart.js';
import { makeSection } from '../../bench/report/sections.js';
import { Summary } from '../../bench/report/summary.js';
import { niceCeiling } from '../../bench/report/svg.js';
import type { RunLine } from '../../bench/result-line.js';
import { scenarios } from '../../bench/scenarios.js';

const scenario = 'drain: defaults';

describe('report of the benchmark', () => {
  it('shows median and range, and every run that was cut, skipped or failed', () => {
    const summary = new Summary([
      ...[8_000, 9_000, 12_000].map((perSecond) => line('tarefa', { figures: { perSecond } })),
      line('pg-boss', { figures: { perSecond: 0.5 }, cut: 'not finished after 10 s' }),
      line('bullmq on redis', { skipped: 'redis-server is not installed' }),
      line('graphile-worker', { failed: 'no connection' }),
    ]);
    const { text } = makeSection(
      scenarios.find(({ name }) => name === scenario)!,
      summary,
    );
    expect(text).toContain('| tarefa | 9,000 (8,000..12,000) |');
    expect(text).toContain('| pg-boss | 0.5 | 1 of 1 cut: not finished after 10 s |');
    expect(text).toContain('not run: redis-server is not installed');
    expect(text).toContain('1 of 1 failed: no connection');
  });

  it('judges a goal by the best peer that it names', () => {
    const figures = (perSecond: number) => ({ figures: { perSecond } });
    const table = (ours: number): string =>
      benchGoals(
        new Summary([
          line('tarefa', figures(ours)),
          line('graphile-worker', figures(1_900)),
          line('bullmq on redis', figures(6_000)),
        ]),
      );
    expect(table(12_000)).toMatch(/drain, defaults .* 12,000 \| 1,900 \| {2}\| 6,000 .* 2 \| met \|/);
    expect(table(11_000)).toMatch(/drain, defaults .* 1.83 \| \*\*missed\*\* \|/);
    expect(table(12_000)).toMatch(/grouped transactions .* not measured \|/);
  });

  it('draws bars in proportion', () => {
    const svg = barChart('a & b', 'per second', [
      { label: 'tarefa', value: 100, min: 100, max: 100 },
      { label: 'bare', value: 50, min: 50, max: 50 },
    ]);
    const [whole, half] = [...svg.matchAll(/<rect [^>]*width="([\d.]+)"/g)].map((match) => Number(match[1]));
    expect(half).toBeCloseTo(whole! / 2);
    expect(svg).toContain('a &amp; b');
  });

  it('ends axes at round numbers and keeps labels apart', () => {
    expect([niceCeiling(97_000), niceCeiling(28_800), niceCeiling(0.7)]).toEqual([100_000, 30_000, 0.8]);
    expect(spreadOut([100, 10, 102], 16)).toEqual([100, 10, 116]);
  });
});

function line(peer: string, rest: Partial<RunLine>): RunLine {
  return { type: 'run', scenario, peer, run: 1, ...rest };
}
