import { read } from '../api-client.js';
import { learnServerTime } from '../clock.js';
import { h } from '../dom.js';
import { fill } from '../fill.js';
import { t } from '../language.js';
import { LiveOverview } from '../live.js';
import { repeat } from '../repeat.js';
import { hashOf } from '../router.js';
import { attempt, failure, loading } from '../states.js';
import { historyCharts } from './history-charts.js';
import { liveLine } from './live-line.js';
import { nextSection } from './next.js';
import { problemsSection } from './problems.js';
import { firstShown } from './recorded.js';
import { routesSection } from './routes-table.js';
import { runningSection } from './running.js';
import { tiles } from './tiles.js';
import { workersSection } from './workers.js';

/** @typedef {import('../../api.ts').OverviewJson} OverviewJson */
/** @typedef {import('../../api.ts').HistoryJson} HistoryJson */

const historyEveryMs = 15_000;

/**
 * The queue as it is now, and over the last hour or day.
 *
 * @type {import('../main.js').View}
 */
export function showOverview({ main, info, signal }, place) {
  /** @type {OverviewJson | null} */
  let overview = null;
  /** @type {HistoryJson | null} of the range that was chosen, all routes */
  let history = null;
  /** @type {HistoryJson | null} */
  let lastHour = null;
  let { params } = place;
  let request = new AbortController();
  const slots = {
    live: h('div', { class: 'live' }),
    problems: h('div'),
    tiles: h('div'),
    routes: h('div'),
    running: h('div'),
    workers: h('div'),
    next: h('div'),
    historyFailure: h('div'),
  };
  const charts = historyCharts(signal, changeParams);
  const live = new LiveOverview(takeOverview, showState, signal);

  fill(
    main,
    h('div', { class: 'heading' }, h('h1', { tabindex: '-1' }, t('nav.overview')), slots.live),
    slots.problems,
    slots.tiles,
    slots.historyFailure,
    charts.element,
    slots.routes,
    h('div', { class: 'columns' }, slots.running, slots.workers, slots.next),
  );
  fill(slots.tiles, loading());
  charts.showParams(params);
  live.restart();
  void readHistory();
  repeat(readHistory, historyEveryMs, signal);
  repeat(() => render(), 1000, signal);
  signal.addEventListener('abort', () => request.abort());

  return (next) => {
    ({ params } = next);
    charts.showParams(params);
    void readHistory();
  };

  /** @param {OverviewJson} next */
  function takeOverview(next) {
    overview = next;
    learnServerTime(next.at);
    render();
  }

  /**
   * @param {import('../live.js').LiveState} state
   * @param {import('../api-client.js').Refusal | null} refusal
   */
  function showState(state, refusal) {
    fill(slots.live, liveLine(state, refusal, live));
  }

  async function readHistory() {
    request.abort();
    request = new AbortController();
    const { signal: current } = request;
    const range = params.get('range') === 'day' ? 'day' : 'hour';
    const route = routeOf(params);
    await attempt(
      async () => {
        /** @type {readonly [HistoryJson, HistoryJson | null, HistoryJson | null]} */
        const [all, narrowed, hour] = await Promise.all([
          read('history', new URLSearchParams({ range }), current),
          route ? read('history', new URLSearchParams({ range, ...route }), current) : null,
          range === 'hour' ? null : read('history', new URLSearchParams({ range: 'hour' }), current),
        ]);
        history = all;
        lastHour = hour ?? all;
        fill(slots.historyFailure);
        charts.show(narrowed ?? all, firstShown(all));
        render();
      },
      (error) =>
        fill(
          slots.historyFailure,
          failure(error, () => void readHistory()),
        ),
    );
  }

  function render() {
    if (!overview) return;
    const canPause = info.actions.includes('pause');
    const refresh = () => live.refresh().catch(() => live.restart());
    fill(slots.problems, problemsSection(overview, canPause, refresh));
    fill(slots.tiles, tiles(overview, lastHour));
    fill(slots.routes, routesSection({ overview, history, params, canPause, refresh, narrow: changeParams }));
    fill(slots.running, runningSection(overview));
    fill(slots.workers, workersSection(overview));
    fill(slots.next, nextSection(overview));
  }

  /** @param {Readonly<Record<string, string | null>>} changes null takes one away */
  function changeParams(changes) {
    const changed = new URLSearchParams(params);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) changed.delete(name);
      else changed.set(name, value);
    }
    location.hash = hashOf('overview', { params: changed });
  }
}

/**
 * @param {URLSearchParams} params
 * @returns {Record<string, string> | null}
 */
function routeOf(params) {
  const subscription = params.get('subscription');
  if (subscription !== null) return { subscription };
  const topic = params.get('topic');
  return topic === null ? null : { topic };
}
