import { kindOf, svg, svgText } from './svg.js';
import { formatNumber } from './text.js';

/** One bar, with the range of the runs. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
}

const width = 760;
const labelWidth = 250;
const valueWidth = 90;
const barHeight = 18;
const rowHeight = 26;
const top = 30;

/** Horizontal bars on a scale that begins at zero; thin lines show the range of the runs. */
export function barChart(title: string, unit: string, bars: readonly Bar[]): string {
  const room = width - labelWidth - valueWidth;
  const most = Math.max(...bars.map(({ max }) => max), Number.MIN_VALUE);
  const scale = (value: number): number => Math.round((value / most) * room * 10) / 10;
  const rows = bars.flatMap(({ label, value, min, max }, index) => {
    const y = top + index * rowHeight;
    const middle = y + barHeight / 2;
    const end = labelWidth + scale(max);
    return [
      svgText(labelWidth - 8, y + 14, label, 'end'),
      `<rect class="bar ${kindOf(label)}" x="${labelWidth}" y="${y}" width="${Math.max(1, scale(value))}" height="${barHeight}"/>`,
      ...(max > min ? [`<path class="range" d="M${labelWidth + scale(min)} ${middle}H${end}"/>`] : []),
      svgText(end + 6, y + 14, formatNumber(value)),
    ];
  });
  const height = top + bars.length * rowHeight + 4;
  return svg(width, height, `${title}: ${unit}`, [svgText(labelWidth, 18, unit, 'start', 'soft'), ...rows]);
}
