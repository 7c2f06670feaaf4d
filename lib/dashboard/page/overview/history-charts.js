import { timeChart } from '../charts/time-chart.js';
import { timeOf } from '../clock.js';
import { h } from '../dom.js';
import { fill } from '../fill.js';
import { formatCount, formatDuration } from '../format.js';
import { phrase, t } from '../language.js';
import { shown } from '../text.js';

/** @typedef {import('../../api.ts').HistoryJson} HistoryJson */
/** @typedef {import('../../api.ts').PointJson} PointJson */

/**
 * The last hour or day as charts, of everything or of one route.
 *
 * @param {AbortSignal} signal
 * @param {(changes: Readonly<Record<string, string | null>>) => void} change
 */
export function historyCharts(signal, change) {
  const head = h('div', { class: 'section-head' });
  const begins = h('div');
  const charts = chartsOf().map(({ values, ...chart }) => ({ values, ...timeChart(chart, signal) }));
  const element = h(
    'section',
    { 'aria-labelledby': 'history-title' },
    head,
    h(
      'div',
      { class: 'charts' },
      charts.map((chart) => chart.element),
    ),
    begins,
  );
  return { element, show, showParams };

  /**
   * @param {HistoryJson} history
   * @param {number} from index of the first point to show
   */
  function show({ points }, from) {
    const recorded = points.slice(from);
    for (const chart of charts)
      chart.show(recorded.map((point) => ({ at: point.at, values: chart.values(point) })));
    const [first] = recorded;
    fill(
      begins,
      from > 0 &&
        first &&
        h('p', { class: 'muted small begins' }, phrase('history.begins', { time: timeOf(first.at) })),
    );
  }

  /** @param {URLSearchParams} params */
  function showParams(params) {
    const range = params.get('range') === 'day' ? 'day' : 'hour';
    const narrowed = params.get('subscription') ?? params.get('topic');
    fill(
      head,
      h('h2', { id: 'history-title' }, t('history.title')),
      narrowed !== null &&
        h(
          'button',
          {
            type: 'button',
            class: 'chip',
            'data-action': 'widen',
            'aria-label': t('history.widen'),
            onclick: () => change({ topic: null, subscription: null }),
          },
          narrowed === '' ? t('route.noTopic') : shown(narrowed, 60),
          h('span', { 'aria-hidden': 'true' }, ' ✕'),
        ),
      h(
        'div',
        { class: 'switch', role: 'group', 'aria-label': t('history.range') },
        /** @type {const} */ (['hour', 'day']).map((each) =>
          h(
            'button',
            {
              type: 'button',
              'data-action': `range-${each}`,
              'aria-pressed': String(range === each),
              onclick: () => change({ range: each === 'hour' ? null : each }),
            },
            t(`history.${each}`),
          ),
        ),
      ),
    );
  }
}

/** @returns {(import('../charts/time-chart.js').Chart & { values: (point: PointJson) => (number | null)[] })[]} */
function chartsOf() {
  const xLabel = t('chart.time');
  const time = /** @type {const} */ ({ unit: 'duration', format: formatDuration, xLabel, kind: 'lines' });
  return [
    {
      name: 'throughput',
      title: t('chart.throughput'),
      kind: 'bars',
      unit: 'count',
      format: formatCount,
      xLabel,
      yLabel: t('chart.attempts'),
      empty: t('chart.throughput.empty'),
      series: [
        { name: 'succeeded', label: t('status.succeeded'), isHatched: false },
        { name: 'failed', label: t('status.failed'), isHatched: true },
      ],
      values: ({ succeeded, failed }) => [succeeded, failed],
    },
    {
      ...time,
      name: 'wait',
      title: t('chart.wait'),
      isLog: true,
      yLabel: t('chart.waitAxis'),
      empty: t('chart.wait.empty'),
      series: [
        { name: 'p50', label: 'p50' },
        { name: 'p95', label: 'p95', dash: '6 3' },
        { name: 'p99', label: 'p99', dash: '2 3' },
      ],
      values: ({ waitP50, waitP95, waitP99 }) => [waitP50, waitP95, waitP99],
    },
    {
      ...time,
      name: 'run',
      title: t('chart.run'),
      isLog: true,
      yLabel: t('chart.runAxis'),
      empty: t('chart.run.empty'),
      series: [
        { name: 'p50', label: 'p50' },
        { name: 'p95', label: 'p95', dash: '6 3' },
      ],
      values: ({ runP50, runP95 }) => [runP50, runP95],
    },
    {
      ...time,
      name: 'lag',
      title: t('chart.lag'),
      yLabel: t('chart.lagAxis'),
      empty: t('chart.lag.empty'),
      series: [{ name: 'lag', label: t('tile.lag') }],
      values: ({ lagMs }) => [lagMs],
    },
  ];
}
