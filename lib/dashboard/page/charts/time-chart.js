import { h, svg } from '../dom.js';
import { fill } from '../fill.js';
import { formatClock } from '../format.js';
import { t } from '../language.js';
import { drawPlot } from './plot.js';

/** @typedef {{ readonly name: string, readonly label: string, readonly dash?: string, readonly isHatched?: boolean }} Series */
/** @typedef {{ readonly at: string, readonly values: readonly (number | null)[] }} ChartPoint */

/**
 * @typedef {object} Chart
 * @property {string} name
 * @property {string} title
 * @property {'bars' | 'lines'} kind bars stand on each other
 * @property {'count' | 'duration'} unit
 * @property {boolean} [isLog]
 * @property {readonly Series[]} series
 * @property {string} yLabel
 * @property {string} xLabel
 * @property {(value: number) => string} format
 * @property {string} empty what it means that there is nothing
 */

/**
 * A chart over time. The arrow keys move through its points, whose values are spoken, and a table holds the same.
 *
 * @param {Chart} chart
 * @param {AbortSignal} signal
 */
export function timeChart(chart, signal) {
  /** @type {readonly ChartPoint[]} */
  let points = [];
  /** @type {ReturnType<typeof drawPlot> | null} */
  let plot = null;
  let active = -1;
  const picture = h('div', { class: 'picture' });
  const tip = h('div', { class: 'tip', 'aria-hidden': 'true' });
  const slider = h(
    'div',
    {
      class: 'plot',
      role: 'slider',
      tabindex: '0',
      'aria-label': t('chart.points', { title: chart.title }),
      'aria-valuemin': 0,
      onkeydown: move,
      onfocus: () => point(active < 0 ? points.length - 1 : active),
      onblur: () => point(null),
      onpointermove: (event) => {
        if (event instanceof PointerEvent && plot)
          point(plot.indexAt(event.clientX - slider.getBoundingClientRect().left));
      },
      onpointerleave: () => point(document.activeElement === slider ? active : null),
    },
    picture,
    tip,
  );
  const rows = h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': chart.title });
  const asTable = h('details', { ontoggle: showTable }, h('summary', null, t('chart.asTable')), rows);
  const element = h(
    'figure',
    { class: 'chart', 'data-chart': chart.name },
    h('figcaption', null, h('h3', null, chart.title), legend(chart.series)),
    slider,
    asTable,
  );
  const observer = new ResizeObserver(draw);
  observer.observe(slider);
  signal.addEventListener('abort', () => observer.disconnect());
  return { element, show };

  /** @param {readonly ChartPoint[]} given */
  function show(given) {
    points = given;
    slider.setAttribute('aria-valuemax', String(Math.max(points.length - 1, 0)));
    draw();
    showTable();
  }

  function draw() {
    const width = Math.floor(slider.clientWidth);
    if (width === 0) return;
    plot = drawPlot(chart, points, width);
    const isEmpty = points.every(({ values }) => values.every((value) => value === null || value === 0));
    picture.replaceChildren(plot.picture);
    if (isEmpty) picture.append(h('p', { class: 'muted no-points' }, chart.empty));
    active = Math.min(active, points.length - 1);
    point(document.activeElement === slider || tip.textContent !== '' ? active : null);
  }

  /** @param {number | null} index */
  function point(index) {
    const at = index === null ? undefined : points[index];
    if (index !== null && at) active = index;
    plot?.mark(at ? index : null);
    const words = at ? wordsOf(at) : [];
    fill(tip, at && [h('strong', null, formatClock(at.at)), ...words.map((text) => h('span', null, text))]);
    slider.setAttribute('aria-valuenow', String(Math.max(active, 0)));
    const spoken = points[active];
    slider.setAttribute(
      'aria-valuetext',
      spoken ? [formatClock(spoken.at), ...wordsOf(spoken)].join(', ') : chart.empty,
    );
    if (!at || !plot) return;
    const left = plot.x(active);
    const room = slider.clientWidth - tip.offsetWidth;
    tip.style.left = `${String(Math.max(0, Math.min(left > slider.clientWidth / 2 ? left - tip.offsetWidth - 10 : left + 10, room)))}px`;
  }

  /** @param {ChartPoint} at */
  function wordsOf({ values }) {
    return chart.series.map(({ label }, series) => {
      const value = values[series] ?? null;
      return `${label}: ${value === null ? t('chart.none') : chart.format(value)}`;
    });
  }

  /** @param {Event} event */
  function move(event) {
    if (!(event instanceof KeyboardEvent)) return;
    const last = points.length - 1;
    /** @type {Record<string, number>} */
    const targets = {
      ArrowLeft: active - 1,
      ArrowDown: active - 1,
      ArrowRight: active + 1,
      ArrowUp: active + 1,
      PageDown: active - 10,
      PageUp: active + 10,
      Home: 0,
      End: last,
    };
    if (event.key === 'Escape') point(null);
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    point(Math.min(Math.max(target, 0), last));
  }

  function showTable() {
    if (!asTable.open) return;
    fill(
      rows,
      h(
        'table',
        null,
        h('caption', { class: 'unseen' }, chart.title),
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            h('th', { scope: 'col' }, t('chart.time')),
            chart.series.map(({ label }) => h('th', { scope: 'col', class: 'number' }, label)),
          ),
        ),
        h(
          'tbody',
          null,
          points.toReversed().map(({ at, values }) =>
            h(
              'tr',
              { 'data-key': at },
              h('th', { scope: 'row' }, formatClock(at)),
              values.map((value) => h('td', { class: 'number' }, value === null ? '–' : chart.format(value))),
            ),
          ),
        ),
      ),
    );
  }
}

/** @param {readonly Series[]} series */
function legend(series) {
  return h(
    'ul',
    { class: 'legend' },
    series.map(({ name, label, dash, isHatched }) =>
      h(
        'li',
        null,
        svg(
          'svg',
          { width: 22, height: 10, 'aria-hidden': 'true' },
          isHatched === undefined
            ? svg('line', {
                class: `line series-${name}`,
                x1: 1,
                x2: 21,
                y1: 5,
                y2: 5,
                'stroke-dasharray': dash,
              })
            : svg('rect', { class: `bar series-${name}`, x: 5, width: 10, height: 10, rx: 2 }),
          isHatched === true && svg('path', { class: 'hatch-mark', d: 'M6 9l8-8M6 5l4-4M10 9l4-4' }),
        ),
        label,
      ),
    ),
  );
}
