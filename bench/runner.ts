import { isChosen, type Arguments } from './arguments.js';
import { peerOf, type Peer } from './peers.js';
import type { RunLine } from './result-line.js';
import type { FigureName, Outcome, Scenario } from './scenario.js';
import { round } from './statistics.js';

/** What a {@link Runner} works with. */
export interface RunnerParts<On> {
  /** Sets up what one run happens on. */
  readonly open: (scenario: Scenario<On>, peer: Peer) => Promise<On>;
  /** Why this peer cannot run here. */
  readonly findLack: (peer: Peer) => string | undefined;
  readonly report: (line: RunLine) => void;
}

/** Runs scenarios: in every run all of them, in every scenario all peers one after another. */
export class Runner<On extends { close(): Promise<void> }> {
  readonly #parts: RunnerParts<On>;

  constructor(parts: RunnerParts<On>) {
    this.#parts = parts;
  }

  async run(scenarios: readonly Scenario<On>[], { runs, quick, peers }: Arguments): Promise<void> {
    for (let run = 1; run <= runs; run += 1) {
      for (const scenario of scenarios) {
        for (const name of peersOf(scenario, quick).filter((peer) => isChosen(peer, peers))) {
          const line = { type: 'run', scenario: scenario.name, peer: name, run } as const;
          this.#parts.report({ ...line, ...(await this.#runOne(scenario, peerOf(name), quick)) });
        }
        if (run === 1) this.#reportSkips(scenario, peers);
      }
    }
  }

  async #runOne(
    scenario: Scenario<On>,
    peer: Peer,
    quick: boolean,
  ): Promise<Partial<Outcome> & Pick<RunLine, 'skipped' | 'failed'>> {
    const lack = this.#parts.findLack(peer);
    if (lack !== undefined) return { skipped: lack };
    try {
      const stage = await this.#parts.open(scenario, peer);
      try {
        return rounded(await scenario.run(stage, quick ? 'quick' : 'full'));
      } finally {
        await stage.close();
      }
    } catch (error) {
      const text = (error instanceof Error ? error.message : String(error))
        .replace(/\s+/g, ' ')
        .slice(0, 200);
      // What this version of the library does not offer yet cannot be measured.
      if (/^OPTIONS_INVALID/.test(text)) return { skipped: text };
      return { failed: text };
    }
  }

  #reportSkips({ name, skips = {} }: Scenario<On>, chosen: readonly string[]): void {
    for (const [product, skipped] of Object.entries(skips)) {
      if (!isChosen(product, chosen)) continue;
      this.#parts.report({ type: 'run', scenario: name, peer: product, run: 1, skipped });
    }
  }
}

/** A quick run leaves some out, unless the scenario was asked for that is not part of it. */
function peersOf({ peers, quick }: Pick<Scenario, 'peers' | 'quick'>, isQuick: boolean): readonly string[] {
  return isQuick && Array.isArray(quick) ? (quick as readonly string[]) : peers;
}

function rounded(outcome: Outcome): Outcome {
  const figures = Object.entries(outcome.figures).map(([name, value]) => [name as FigureName, round(value)]);
  return {
    ...outcome,
    figures: Object.fromEntries(figures),
    ...(outcome.series && { series: outcome.series.map(round) }),
  };
}
