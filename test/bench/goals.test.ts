import { describe, expect, it } from 'vitest';
import { judge, type Bar, type Goal } from '../../bench/report/goal.js';
import { benchGoals } from '../../bench/report/bench-page.js';
import { goals } from '../../bench/report/goals.js';
import { Summary } from '../../bench/report/summary.js';
import type { EnvironmentLine, ResultLine, RunLine } from '../../bench/result-line.js';
import type { Figures, Scenario } from '../../bench/scenario.js';
import { scenarios } from '../../bench/scenarios.js';

const scenario = 'transaction: grouped';
const bare: Bar = { against: ['bare, grouped'], atLeast: 0.85, withinRuns: true };
const boss: Bar = { against: ['pg-boss, grouped'], atLeast: 1 };

describe('goals of the benchmark', () => {
  it.each(goals.map((goal) => [`${goal.work}: ${goal.goal}`, goal] as const))(
    'name what is measured: %s',
    (_, goal) => {
      expectMeasured(goal.scenario, goal, [goal.ours, ...goal.peers]);
      for (const bar of goal.bars) {
        expect((bar.atLeast === undefined) === (bar.atMost === undefined)).toBe(false);
        expect(bar.atMost === undefined).toBe(goal.bars[0].atMost === undefined);
        if (typeof bar.against === 'number') continue;
        expect(bar.against).not.toHaveLength(0);
        expectMeasured(bar.scenario ?? goal.scenario, goal, bar.against);
      }
    },
  );

  it('are met when one of their bars is reached', () => {
    const lines = [run('tarefa, grouped', 9_000), run('pg-boss, grouped', 12_000)];
    expect(judge(new Summary(lines), goalOf(boss, bare))).toEqual({ ratio: 0.75, verdict: 'missed' });
    expect(judge(new Summary([...lines, run('bare, grouped', 10_000)]), goalOf(boss, bare))).toEqual({
      ratio: 0.9,
      verdict: 'met',
    });
  });

  it('are not measured where neither of their bars was', () => {
    const lines = [run('tarefa, grouped', 9_000)];
    expect(judge(new Summary(lines), goalOf(boss, bare)).verdict).toBe('not measured');
    expect(judge(new Summary([run('bare, grouped', 9_000)]), goalOf(boss, bare)).verdict).toBe(
      'not measured',
    );
  });

  it('compare within a run when they say so, also where files of several sittings are one report', () => {
    // The second sitting was on a machine half as fast, and had one run more by us.
    const summary = new Summary([
      environment(),
      run('tarefa, grouped', 9_000),
      run('bare, grouped', 10_000),
      environment(),
      run('tarefa, grouped', 4_000),
      run('bare, grouped', 5_000),
      run('tarefa, grouped', 1_000, 2),
      run('bare, grouped', undefined, 2),
    ]);
    expect(judge(summary, goalOf(bare)).ratio).toBeCloseTo((0.9 + 0.8) / 2);
    const overall: Bar = { against: ['bare, grouped'], atLeast: 0.85 };
    expect(judge(summary, goalOf(overall)).ratio).toBeCloseTo(4_000 / 7_500);
  });

  it('ask for less where less is better, and take the best peer by that', () => {
    const wait: Goal = {
      ...{ work: 'wait', goal: '', scenario, figure: 'p99Ms', ours: 'tarefa', peers: [] },
      bars: [
        { against: ['graphile-worker', 'pg-boss'], atMost: 1 },
        { against: ['bare, notify'], atMost: 1.05 },
      ],
    };
    const verdict = (ours: number): unknown =>
      judge(
        new Summary([
          line('tarefa', { p99Ms: ours }),
          line('graphile-worker', { p99Ms: 8 }),
          line('pg-boss', { p99Ms: 6 }),
          line('bare, notify', { p99Ms: 6.2 }),
        ]),
        wait,
      );
    expect(verdict(6)).toEqual({ ratio: 6 / 6.2, verdict: 'met' });
    expect(verdict(6.5)).toEqual({ ratio: 6.5 / 6.2, verdict: 'met' });
    expect(verdict(6.6)).toEqual({ ratio: 6.6 / 6.2, verdict: 'missed' });
  });

  it('compare with another scenario, and with fixed values', () => {
    const rates = (many: number): string =>
      benchGoals(
        new Summary([
          { ...line('tarefa, every topic', { perSecond: 20_000 }), scenario: 'routes of one handler: 1' },
          { ...line('tarefa, every topic', { perSecond: many }), scenario: 'routes of one handler: 100,000' },
          { ...line('tarefa', { statementsPerMinute: 29 }), scenario: 'idle: two workers' },
        ]),
      );
    expect(rates(10_000)).toMatch(/100,000 routes \| .* 10,000 \| .* 0.5 \| met \|/);
    expect(rates(9_900)).toMatch(/100,000 routes \| .* 0.495 \| \*\*missed\*\* \|/);
    expect(rates(9_900)).toMatch(/two idle workers \| .* 29 \| .* 1.04 \| \*\*missed\*\* \|/);
  });
});

function expectMeasured(name: string, { figure }: Goal, peers: readonly string[]): void {
  const measured = scenarioOf(name);
  expect(measured.columns).toContain(figure);
  expect(peers.filter((peer) => !measured.peers.includes(peer))).toEqual([]);
}

function scenarioOf(name: string): Scenario {
  const found = scenarios.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no scenario is called ${name}`);
  return found;
}

function goalOf(...bars: Goal['bars']): Goal {
  return {
    ...{ work: '', goal: '', scenario, figure: 'perSecond', ours: 'tarefa, grouped', peers: [] },
    bars,
  };
}

function run(peer: string, perSecond: number | undefined, number = 1): RunLine {
  const figures = perSecond === undefined ? {} : { figures: { perSecond } };
  return { type: 'run', scenario, peer, run: number, ...figures };
}

function line(peer: string, figures: Figures): RunLine {
  return { type: 'run', scenario, peer, run: 1, figures };
}

function environment(): ResultLine {
  return { type: 'environment' } as EnvironmentLine;
}
