import type { ResultLine, RunLine } from '../result-line.js';
import type { FigureName } from '../scenario.js';
import { median } from '../statistics.js';

/** A figure over all runs. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** All runs of one scenario by one peer. */
export class Runs {
  readonly peer: string;
  readonly lines: readonly RunLine[];

  constructor(peer: string, lines: readonly RunLine[]) {
    this.peer = peer;
    this.lines = lines;
  }

  spread(figure: FigureName): Spread | undefined {
    const values = this.lines.flatMap(({ figures }) => figures?.[figure] ?? []);
    if (values.length === 0) return undefined;
    return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
  }

  /** Medians of the windows; undefined where the scenario has none. */
  get series(): readonly number[] | undefined {
    const all = this.lines.flatMap(({ series }) => (series === undefined ? [] : [series]));
    const longest = Math.max(0, ...all.map(({ length }) => length));
    if (longest === 0) return undefined;
    return Array.from({ length: longest }, (_, index) => median(all.flatMap((one) => one[index] ?? [])));
  }

  /** Why there are no figures, or what is to be known about them. */
  get remarks(): string {
    const skipped = this.lines.find((line) => line.skipped !== undefined)?.skipped;
    if (skipped !== undefined) return `not run: ${skipped}`;
    const cut = this.lines.filter((line) => line.cut !== undefined);
    const failed = this.lines.filter((line) => line.failed !== undefined);
    return [
      ...(cut[0] ? [`${cut.length} of ${this.lines.length} cut: ${cut[0].cut}`] : []),
      ...(failed[0] ? [`${failed.length} of ${this.lines.length} failed: ${failed[0].failed}`] : []),
    ].join('; ');
  }
}

/** Result lines, arranged by scenario and peer in the order in which they were run. */
export class Summary {
  readonly #runs = new Map<string, Map<string, RunLine[]>>();
  /** By line, in which run of which sitting it was measured. */
  readonly #runOf = new Map<RunLine, string>();

  constructor(lines: readonly ResultLine[]) {
    let sitting = 0;
    for (const line of lines) {
      // Several files may be one report; each begins with its environment.
      if (line.type === 'environment') sitting += 1;
      if (line.type !== 'run') continue;
      this.#runOf.set(line, `${sitting}, ${line.run}`);
      const peers = this.#runs.get(line.scenario) ?? new Map<string, RunLine[]>();
      this.#runs.set(line.scenario, peers);
      peers.set(line.peer, [...(peers.get(line.peer) ?? []), line]);
    }
  }

  get scenarios(): readonly string[] {
    return [...this.#runs.keys()];
  }

  peers(scenario: string): readonly Runs[] {
    return [...(this.#runs.get(scenario) ?? [])].map(([peer, lines]) => new Runs(peer, lines));
  }

  /** The median of a figure; undefined where it was not measured. */
  median(scenario: string, peer: string, figure: FigureName): number | undefined {
    return new Runs(peer, this.#lines(scenario, peer)).spread(figure)?.median;
  }

  /** The figure of each run that has it; runs have the same key for all peers and scenarios. */
  byRun(scenario: string, peer: string, figure: FigureName): ReadonlyMap<string, number> {
    const values = new Map<string, number>();
    for (const line of this.#lines(scenario, peer)) {
      const value = line.figures?.[figure];
      if (value !== undefined) values.set(this.#runOf.get(line) ?? '', value);
    }
    return values;
  }

  #lines(scenario: string, peer: string): readonly RunLine[] {
    return this.#runs.get(scenario)?.get(peer) ?? [];
  }
}
