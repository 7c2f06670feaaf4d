import { svg } from '../dom.js';
import { formatClock } from '../format.js';
import { linearScale, logScale } from './scales.js';

/** @typedef {import('./time-chart.js').Chart} Chart */
/** @typedef {import('./time-chart.js').ChartPoint} ChartPoint */

const height = 190;
const edge = { left: 58, right: 10, top: 20, bottom: 34 };
let patterns = 0;

/**
 * Draws the points. Values of each are in the order of the chart's series.
 *
 * @param {Chart} chart
 * @param {readonly ChartPoint[]} points
 * @param {number} width px
 */
export function drawPlot(chart, points, width) {
  const inner = {
    width: Math.max(width - edge.left - edge.right, 20),
    height: height - edge.top - edge.bottom,
  };
  const scale = scaleOf(chart, points);
  const step = inner.width / Math.max(points.length, 1);
  const bottom = edge.top + inner.height;
  const x = (/** @type {number} */ index) => edge.left + (index + 0.5) * step;
  const y = (/** @type {number} */ value) => bottom - scale.at(value) * inner.height;
  patterns += 1;
  const hatch = `hatch-${String(patterns)}`;

  const picture = svg(
    'svg',
    {
      width,
      height,
      viewBox: `0 0 ${String(width)} ${String(height)}`,
      'aria-hidden': 'true',
      focusable: 'false',
    },
    svg(
      'defs',
      null,
      svg(
        'pattern',
        { id: hatch, width: 5, height: 5, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
        svg('rect', { width: 5, height: 5, class: 'hatch-ground' }),
        svg('rect', { width: 2, height: 5, class: 'hatch-line' }),
      ),
    ),
    svg('text', { class: 'axis-name', x: 0, y: 11 }, chart.yLabel),
    scale.ticks.map((tick) => [
      svg('line', { class: 'grid', x1: edge.left, x2: width - edge.right, y1: y(tick), y2: y(tick) }),
      svg(
        'text',
        { class: 'tick', x: edge.left - 6, y: y(tick) + 3.5, 'text-anchor': 'end' },
        chart.format(tick),
      ),
    ]),
    timeTicks(points, inner.width).map((index) =>
      svg(
        'text',
        { class: 'tick', ...tickPlace(x(index), width), y: bottom + 14 },
        formatClock(points[index]?.at ?? ''),
      ),
    ),
    svg(
      'text',
      { class: 'axis-name', x: width - edge.right, y: height - 4, 'text-anchor': 'end' },
      chart.xLabel,
    ),
    chart.kind === 'bars'
      ? bars(chart, points, { x, y, bottom, step, hatch })
      : lines(chart, points, { x, y, step }),
  );
  const marker = svg('g', { class: 'marker' });
  picture.append(marker);
  return { picture, mark, indexAt, x };

  /** @param {number | null} index */
  function mark(index) {
    const values = index === null ? undefined : points[index]?.values;
    if (index === null || !values) {
      marker.replaceChildren();
      return;
    }
    const line = svg('line', { x1: x(index), x2: x(index), y1: edge.top, y2: bottom });
    const dots = values.map((value, series) =>
      value === null || chart.kind === 'bars'
        ? null
        : svg('circle', {
            class: `series-${chart.series[series]?.name ?? ''}`,
            cx: x(index),
            cy: y(value),
            r: 3.5,
          }),
    );
    marker.replaceChildren(line, ...dots.filter((dot) => dot !== null));
  }

  /** @param {number} px from the left of the picture */
  function indexAt(px) {
    return Math.min(Math.max(Math.floor((px - edge.left) / step), 0), points.length - 1);
  }
}

/**
 * Below its point, unless it would be cut off there.
 *
 * @param {number} x
 * @param {number} width
 */
function tickPlace(x, width) {
  return x > width - 28 ? { x: width - 1, 'text-anchor': 'end' } : { x, 'text-anchor': 'middle' };
}

/**
 * @param {Chart} chart
 * @param {readonly ChartPoint[]} points
 */
function scaleOf(chart, points) {
  const isTime = chart.unit === 'duration';
  if (chart.kind === 'bars') {
    const sums = points.map(({ values }) => values.reduce((sum, value) => (sum ?? 0) + (value ?? 0), 0) ?? 0);
    return linearScale(Math.max(0, ...sums), isTime);
  }
  const values = points.flatMap((point) => point.values.filter((value) => value !== null));
  if (!chart.isLog) return linearScale(Math.max(0, ...values), isTime);
  return logScale(Math.min(...values, 100), Math.max(...values, 100));
}

/**
 * @param {readonly ChartPoint[]} points
 * @param {number} width
 */
function timeTicks(points, width) {
  const every = Math.ceil(points.length / Math.max(2, Math.floor(width / 72)));
  return points.map((_, index) => index).filter((index) => index % every === Math.floor(every / 2));
}

/**
 * @param {Chart} chart
 * @param {readonly ChartPoint[]} points
 * @param {{ x: (index: number) => number, y: (value: number) => number, bottom: number, step: number, hatch: string }} place
 */
function bars(chart, points, { x, y, bottom, step, hatch }) {
  const width = Math.max(step - (step > 5 ? 1.5 : 0.5), 1);
  return points.map((point, index) => {
    let from = 0;
    return point.values.map((value, series) => {
      if (!value) return null;
      const top = y(from + value);
      const foot = from === 0 ? bottom : y(from);
      from += value;
      const { name = '', isHatched = false } = chart.series[series] ?? {};
      return svg('rect', {
        class: `bar series-${name}${index === points.length - 1 ? ' unfinished' : ''}`,
        x: (x(index) - width / 2).toFixed(2),
        y: top.toFixed(2),
        width: width.toFixed(2),
        height: Math.max(foot - top, 1).toFixed(2),
        fill: isHatched ? `url(#${hatch})` : null,
      });
    });
  });
}

/**
 * @param {Chart} chart
 * @param {readonly ChartPoint[]} points
 * @param {{ x: (index: number) => number, y: (value: number) => number, step: number }} place
 */
function lines(chart, points, { x, y, step }) {
  return chart.series.map(({ name, dash }, series) => {
    const known = points.map(({ values }) => values[series] ?? null);
    let path = '';
    const dots = known.map((value, index) => {
      const isFirst = (known[index - 1] ?? null) === null;
      if (value === null) return null;
      const isAlone = isFirst && (known[index + 1] ?? null) === null;
      path += `${isFirst ? 'M' : 'L'}${(x(index) - (isAlone ? step / 2 : 0)).toFixed(1)} ${y(value).toFixed(1)}`;
      // A line of one point cannot be seen: it is as wide as its stretch of time, with a dot.
      if (isAlone) path += `h${step.toFixed(1)}`;
      return isAlone
        ? svg('circle', { class: `dot series-${name}`, cx: x(index), cy: y(value), r: 3.5 })
        : null;
    });
    return [svg('path', { class: `line series-${name}`, d: path, 'stroke-dasharray': dash }), dots];
  });
}
