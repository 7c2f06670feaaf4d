import { sparkline } from '../charts/sparkline.js';
import { h } from '../dom.js';
import { formatCount, formatDuration } from '../format.js';
import { t } from '../language.js';
import { pauseButton } from '../pause.js';
import { routeKey, routeName, routeParams, routeText, tasksHash } from '../routes.js';
import { nothing } from '../states.js';
import { table } from '../table.js';

/** @typedef {import('../../api.ts').OverviewJson} OverviewJson */
/** @typedef {import('../../api.ts').HistoryJson} HistoryJson */
/** @typedef {import('../../api.ts').RouteTotalsJson} RouteTotals */

/** @typedef {{ totals: RouteTotals, pending: number, isCapped: boolean, running: number, isPaused: boolean }} Row */

/** @type {Omit<RouteTotals, 'topic' | 'subscriptionId'>} */
const noTotals = {
  isRest: false,
  succeeded: 0,
  failed: 0,
  buried: 0,
  delivered: 0,
  waitP50: null,
  waitP95: null,
  waitP99: null,
  runP50: null,
  runP95: null,
  ended: [],
};

/**
 * Every topic and subscription: over the range, and now.
 *
 * @param {object} given
 * @param {OverviewJson} given.overview
 * @param {HistoryJson | null} given.history
 * @param {URLSearchParams} given.params
 * @param {boolean} given.canPause
 * @param {() => unknown} given.refresh
 * @param {(changes: Readonly<Record<string, string | null>>) => void} given.narrow
 */
export function routesSection({ overview, history, params, canPause, refresh, narrow }) {
  const rows = rowsOf(overview, history);
  return h(
    'section',
    { 'aria-labelledby': 'routes-title' },
    h('div', { class: 'section-head' }, h('h2', { id: 'routes-title' }, t('routes.title'))),
    rows.length === 0
      ? nothing(t('routes.none'), t('routes.none.hint'))
      : table({
          caption: t(history?.range === 'day' ? 'routes.caption.day' : 'routes.caption.hour'),
          rows,
          key: ({ totals }) => (totals.isRest ? 'rest' : routeKey(totals)),
          attributes: ({ totals }) => ({ 'aria-current': isNarrowed(totals, params) ? 'true' : null }),
          columns: [
            { label: t('routes.route'), kind: 'head', cell: (row) => nameOf(row, params, narrow) },
            { label: t('routes.trend'), cell: ({ totals }) => sparkline(totals.ended) },
            {
              label: t('status.succeeded'),
              kind: 'number',
              cell: ({ totals }) => formatCount(totals.succeeded + totals.delivered),
            },
            { label: t('status.failed'), kind: 'number', cell: ({ totals }) => failedOf(totals) },
            { label: t('routes.buried'), kind: 'number', cell: ({ totals }) => formatCount(totals.buried) },
            {
              label: t('routes.wait'),
              kind: 'number',
              cell: ({ totals }) => pair(totals.waitP50, totals.waitP95),
            },
            {
              label: t('routes.run'),
              kind: 'number',
              cell: ({ totals }) => pair(totals.runP50, totals.runP95),
            },
            { label: t('status.processing'), kind: 'number', cell: ({ running }) => formatCount(running) },
            {
              label: t('status.pending'),
              kind: 'number',
              cell: ({ totals, pending, isCapped }) =>
                pending === 0 || totals.isRest
                  ? formatCount(pending)
                  : h(
                      'a',
                      { href: tasksHash(totals, { status: 'pending' }) },
                      formatCount(pending, isCapped),
                    ),
            },
            ...(canPause
              ? [
                  {
                    label: t('table.actions'),
                    kind: /** @type {const} */ ('actions'),
                    cell: (/** @type {Row} */ { totals, isPaused }) =>
                      totals.isRest ? null : pauseButton(totals, isPaused, refresh),
                  },
                ]
              : []),
          ],
        }),
  );
}

/**
 * @param {OverviewJson} overview
 * @param {HistoryJson | null} history
 * @returns {Row[]}
 */
function rowsOf({ counts, paused }, history) {
  /** @type {Map<string, Row>} */
  const rows = new Map();
  for (const totals of history?.routes ?? [])
    rows.set(totals.isRest ? 'rest' : routeKey(totals), {
      totals,
      pending: 0,
      isCapped: false,
      running: 0,
      isPaused: false,
    });
  for (const { topic, subscriptionId, status, count, isCapped } of counts) {
    const row = rowFor({ topic, subscriptionId });
    if (status === 'pending') {
      row.pending += count;
      row.isCapped ||= isCapped;
    }
    if (status === 'processing') row.running += count;
  }
  for (const route of paused) rowFor(route).isPaused = true;
  const all = [...rows.values()];
  return [...all.filter(({ totals }) => !totals.isRest), ...all.filter(({ totals }) => totals.isRest)];

  /** @param {import('../../api.ts').RouteJson} route */
  function rowFor({ topic, subscriptionId }) {
    const key = routeKey({ topic, subscriptionId });
    const known = rows.get(key);
    if (known) return known;
    const made = {
      totals: { topic, subscriptionId, ...noTotals },
      pending: 0,
      isCapped: false,
      running: 0,
      isPaused: false,
    };
    rows.set(key, made);
    return made;
  }
}

/**
 * @param {Row} row
 * @param {URLSearchParams} params
 * @param {(changes: Readonly<Record<string, string | null>>) => void} narrow
 */
function nameOf({ totals, isPaused }, params, narrow) {
  if (totals.isRest) return h('span', { class: 'muted' }, t('routes.rest'));
  const isChosen = isNarrowed(totals, params);
  return [
    h(
      'button',
      {
        type: 'button',
        class: 'link route-button',
        'data-action': 'narrow',
        'aria-pressed': String(isChosen),
        title: t('routes.narrow', { route: routeText(totals) }),
        onclick: () => narrow({ topic: null, subscription: null, ...(isChosen ? {} : routeParams(totals)) }),
      },
      routeName(totals),
    ),
    isPaused && h('span', { class: 'tag tag-paused' }, t('routes.paused')),
  ];
}

/**
 * @param {import('../../api.ts').RouteJson} route
 * @param {URLSearchParams} params
 */
function isNarrowed(route, params) {
  return Object.entries(routeParams(route)).every(([name, value]) => params.get(name) === value);
}

/** @param {RouteTotals} totals */
function failedOf(totals) {
  const { failed } = totals;
  if (failed === 0 || totals.isRest) return formatCount(failed);
  return h(
    'a',
    { class: 'bad', href: tasksHash(totals, { status: 'failed', latest: 'false' }) },
    formatCount(failed),
  );
}

/**
 * @param {number | null} p50
 * @param {number | null} p95
 */
function pair(p50, p95) {
  if (p50 === null && p95 === null) return h('span', { class: 'muted' }, '–');
  return [
    p50 === null ? '–' : formatDuration(p50),
    h('span', { class: 'muted' }, ' / '),
    p95 === null ? '–' : formatDuration(p95),
  ];
}
