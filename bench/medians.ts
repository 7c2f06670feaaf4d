import type { MediansLine, RunLine } from './result-line.js';
import type { FigureName, Figures } from './scenario.js';
import { median, round } from './statistics.js';

/** Medians of the figures of all runs, by scenario and peer. */
export function mediansOf(lines: readonly RunLine[]): MediansLine {
  const runs: Record<string, Record<string, Figures[]>> = {};
  for (const { scenario, peer, figures } of lines) {
    if (figures !== undefined) ((runs[scenario] ??= {})[peer] ??= []).push(figures);
  }
  return { type: 'medians', medians: mapValues(runs, (peers) => mapValues(peers, medianFigures)) };
}

/** Of each figure that any of the runs has. */
export function medianFigures(runs: readonly Figures[]): Figures {
  const names = new Set(runs.flatMap((figures) => Object.keys(figures) as FigureName[]));
  return Object.fromEntries(
    [...names].map((name) => [name, round(median(runs.flatMap((figures) => figures[name] ?? [])))]),
  );
}

function mapValues<From, To>(values: Record<string, From>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}
