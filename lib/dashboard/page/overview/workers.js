import { ageOf } from '../clock.js';
import { h } from '../dom.js';
import { t } from '../language.js';
import { routeName } from '../routes.js';
import { nothing } from '../states.js';
import { shown } from '../text.js';

/** @typedef {import('../../api.ts').WorkerJson} Worker */

/** Routes of a worker that are named before the rest is folded away. */
const firstRoutes = 4;

/**
 * The workers of the queue, where they run and what they take.
 *
 * @param {import('../../api.ts').OverviewJson} overview
 */
export function workersSection({ workers }) {
  return h(
    'section',
    { 'aria-labelledby': 'workers-title', class: 'panel' },
    h('h2', { id: 'workers-title' }, t('workers.title')),
    workers.length === 0
      ? nothing(t('workers.none'), t('workers.none.hint'))
      : h(
          'ul',
          { class: 'rows' },
          workers.map((worker) => workerRow(worker)),
        ),
  );
}

/** @param {Worker} worker */
function workerRow(worker) {
  const { id, host, pid, version, concurrency, busy, startedAt, alive, parent } = worker;
  return h(
    'li',
    { 'data-key': id, 'data-worker': id },
    h(
      'span',
      { class: 'grow' },
      h('span', { class: 'strong' }, shown(host, 60), ` ${String(pid)}`),
      alive === false
        ? h('span', { class: 'tag tag-lost' }, t('workers.lost'))
        : h('span', { class: 'tag tag-alive' }, t(`workers.${alive}`)),
      h(
        'span',
        { class: 'muted small' },
        t('workers.since'),
        ' ',
        ageOf(startedAt),
        ' · ',
        shown(version, 30),
      ),
      parent === null ? routes(worker) : detached(worker),
    ),
    h(
      'span',
      { class: 'figure' },
      h('meter', {
        min: 0,
        max: Math.max(concurrency, 1),
        value: Math.min(busy, concurrency),
        'aria-label': t('workers.slots', { busy, slots: concurrency }),
      }),
      h('span', { class: 'small', 'aria-hidden': 'true' }, `${String(busy)}/${String(concurrency)}`),
    ),
  );
}

/**
 * A process that runs one attempt.
 *
 * @param {Worker} worker
 */
function detached({ parent, output }) {
  return h(
    'span',
    { class: 'small worker-routes' },
    h(
      'span',
      { class: 'mini', title: t('workers.detached.hint') },
      t('workers.detached', { parent: parent ?? '' }),
    ),
    output !== null && h('span', { class: 'muted' }, shown(output, 200)),
  );
}

/** @param {Worker} worker */
function routes({ routes: all, takesAll, webhooks }) {
  const named = all.slice(0, firstRoutes);
  const rest = all.slice(firstRoutes);
  return h(
    'span',
    { class: 'small worker-routes' },
    named.map((route) =>
      h(
        'span',
        { class: 'mini' },
        routeName({ ...route, topic: route.subscriptionId === null ? route.topic : null }),
      ),
    ),
    webhooks && h('span', { class: 'mini', title: t('workers.webhooks.hint') }, t('workers.webhooks')),
    takesAll && h('span', { class: 'mini muted', title: t('workers.takesAll.hint') }, t('workers.takesAll')),
    rest.length > 0 &&
      h(
        'details',
        null,
        h('summary', null, t('workers.moreRoutes', { n: rest.length, count: rest.length })),
        rest.slice(0, 200).map((route) => h('span', { class: 'mini' }, routeName(route))),
      ),
  );
}
