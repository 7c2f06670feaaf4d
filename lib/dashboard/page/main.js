import { read } from './api-client.js';
import { fill } from './fill.js';
import { h } from './dom.js';
import { applyLanguage, t } from './language.js';
import { showMissing } from './missing-view.js';
import { placeOf } from './router.js';
import { renderShell } from './shell.js';
import { attempt, failure, loading } from './states.js';
import { applyTheme } from './theme.js';
import { showOverview } from './overview/overview-view.js';
import { showSchedules } from './schedules/schedules-view.js';
import { showSubscription } from './subscriptions/subscription-view.js';
import { showSubscriptions } from './subscriptions/subscriptions-view.js';
import { showTask } from './task/task-view.js';
import { showTasks } from './tasks/tasks-view.js';

/** @typedef {import('../api.ts').InfoJson} InfoJson */
/** @typedef {import('./router.js').Place} Place */

/**
 * What a view is given: where to show itself, what this dashboard may, and when it is left.
 *
 * @typedef {{ readonly main: HTMLElement, readonly info: InfoJson, readonly signal: AbortSignal }} ViewContext
 */

/**
 * Shows a view; what comes back is called when only the filters in the hash changed.
 *
 * @typedef {(context: ViewContext, place: Place) => ((place: Place) => void) | void} View
 */

/** @type {Readonly<Record<import('./router.js').ViewName, View>>} */
const views = {
  overview: showOverview,
  tasks: showTasks,
  task: showTask,
  schedules: showSchedules,
  subscriptions: showSubscriptions,
  subscription: showSubscription,
  missing: showMissing,
};

let following = new AbortController();

applyTheme();
hideKey();
await applyLanguage();
void start(null);

/** The key of a dashboard on loopback is in a cookie by now: it need not stay in the address and in what is shared. */
function hideKey() {
  if (new URLSearchParams(location.search).has('key'))
    history.replaceState(null, '', location.pathname + location.hash);
}

/** @param {InfoJson | null} known what was read before, when the language was switched */
async function start(known) {
  const starting = new AbortController();
  const shell = renderShell(known, () => void start(known));
  if (known) {
    follow(shell, known);
    return;
  }
  shell.markPlace(placeOf(location.hash).view);
  fill(shell.main, loading());
  /** @type {InfoJson | null} */
  let info = null;
  await attempt(
    async () => {
      info = await read('info', null, starting.signal);
    },
    (error) =>
      fill(
        shell.main,
        h('h1', null, 'Tarefa'),
        failure(error, () => void start(null)),
      ),
  );
  if (info) void start(info);
}

/**
 * Shows the place that the hash names, now and whenever it changes.
 *
 * @param {ReturnType<typeof renderShell>} shell
 * @param {InfoJson} info
 */
function follow({ main, markPlace }, info) {
  following.abort();
  following = new AbortController();
  let leaving = new AbortController();
  let shownPlace = '';
  /** @type {ReturnType<View>} */
  let change;

  following.signal.addEventListener('abort', () => leaving.abort());
  addEventListener('hashchange', show, { signal: following.signal });
  show();

  function show() {
    const place = placeOf(location.hash);
    const isFirst = shownPlace === '';
    if (shownPlace === `${place.view}/${place.id}` && change) {
      change(place);
      return;
    }
    shownPlace = `${place.view}/${place.id}`;
    leaving.abort();
    leaving = new AbortController();
    markPlace(place.view);
    main.replaceChildren();
    main.dataset['view'] = place.view;
    change = views[place.view]({ main, info, signal: leaving.signal }, place);
    document.title = `${main.querySelector('h1')?.textContent ?? t('nav.overview')} · Tarefa`;
    if (isFirst) return;
    scrollTo(0, 0);
    main.querySelector('h1')?.focus();
  }
}
