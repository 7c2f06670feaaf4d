import { kindOf, niceCeiling, svg, svgText } from './svg.js';
import { formatNumber } from './text.js';

/** One line: a value per window of time. */
export interface Line {
  readonly label: string;
  readonly values: readonly number[];
}

const width = 760;
const height = 340;
const left = 70;
const right = 210;
const top = 30;
const bottom = 40;
const labelHeight = 16;

/** Lines over time on a scale that begins at zero, each named at its end. */
export function lineChart(
  title: string,
  unit: string,
  lines: readonly Line[],
  windowSeconds: number,
): string {
  const most = niceCeiling(Math.max(...lines.flatMap(({ values }) => values)));
  const windows = Math.max(...lines.map(({ values }) => values.length), 2);
  const x = (index: number): number => Math.round(left + (index / (windows - 1)) * (width - left - right));
  const y = (value: number): number => Math.round(height - bottom - (value / most) * (height - top - bottom));

  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    `<path class="axis" d="M${left} ${y(most * share)}H${width - right}"/>`,
    svgText(left - 8, y(most * share) + 4, formatNumber(most * share), 'end', 'soft'),
  ]);
  const times = Array.from({ length: windows }, (_, index) =>
    svgText(x(index), height - bottom + 20, `${(index + 1) * windowSeconds} s`, 'middle', 'soft'),
  );
  const places = spreadOut(
    lines.map(({ values }) => y(values.at(-1) ?? 0)),
    labelHeight,
  );
  const drawn = lines.flatMap(({ label, values }, index) => [
    `<path class="line ${kindOf(label)}" d="M${values.map((value, at) => `${x(at)} ${y(value)}`).join('L')}"/>`,
    svgText(width - right + 10, (places[index] ?? 0) + 4, label),
  ]);
  return svg(width, height, `${title}: ${unit}`, [
    svgText(left, 18, unit, 'start', 'soft'),
    ...grid,
    ...times,
    ...drawn,
  ]);
}

/** Moves labels apart that would cover each other, as little as possible downwards. */
export function spreadOut(places: readonly number[], distance: number): number[] {
  const order = places.map((place, index) => ({ place, index })).toSorted((a, b) => a.place - b.place);
  const moved = [...places];
  let last = -Infinity;
  for (const { place, index } of order) {
    last = Math.max(place, last + distance);
    moved[index] = last;
  }
  return moved;
}
