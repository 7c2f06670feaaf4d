import { h } from '../dom.js';
import { fill } from '../fill.js';
import { formatCount, formatNumber } from '../format.js';
import { t } from '../language.js';
import { readPreference, writePreference } from '../preferences.js';
import { repeat } from '../repeat.js';
import { hashOf } from '../router.js';
import { announce } from '../shell.js';
import { failure, loading, nothing } from '../states.js';
import { bulkBar, mayBulk } from './bulk-bar.js';
import { filterForm, goToTask } from './filter-form.js';
import { filtersOf } from './filters.js';
import { insertButton } from './insert-form.js';
import { Selection } from './selection.js';
import { TaskSearch } from './task-search.js';
import { taskTable } from './task-table.js';

const refreshEveryMs = 5000;

/**
 * Tasks by what is known of them.
 *
 * @type {import('../main.js').View}
 */
export function showTasks({ main, info, signal }, place) {
  let filters = filtersOf(place.params);
  /** @type {TaskSearch} */
  let search;
  /** @type {TaskSearch | null} the first page once more, behind what is shown */
  let refresh = null;
  const form = filterForm({ main, info, signal }, (chosen) => {
    const hash = hashOf('tasks', { params: chosen });
    if (hash === (location.hash || hashOf('tasks'))) begin();
    else location.hash = hash;
  });
  const selection = new Selection(() => renderBulk());
  const bar = h('div', { class: 'section-head result-bar' });
  const bulk = h('div', { class: 'bulk' });
  const results = h('div', { class: 'results' });

  fill(
    main,
    h(
      'div',
      { class: 'heading' },
      h('h1', { tabindex: '-1' }, t('nav.tasks')),
      info.actions.includes('insert') && insertButton(info),
      goToTask(),
    ),
    form.element,
    bar,
    bulk,
    results,
  );
  form.show(filters);
  begin();
  repeat(refreshFirstPage, refreshEveryMs, signal);
  signal.addEventListener('abort', () => {
    search.drop();
    refresh?.drop();
  });
  return (next) => {
    filters = filtersOf(next.params);
    form.show(filters);
    begin();
  };

  function begin() {
    search?.drop();
    refresh?.drop();
    refresh = null;
    const mine = new TaskSearch(filters, () => render(true));
    search = mine;
    selection.clear();
    void mine.more();
  }

  async function refreshFirstPage() {
    // A search that took several requests is not worth repeating by itself, nor is the place of who reads further down.
    if (!isRefreshing() || search.state === 'searching' || search.requests > 1 || isHeld()) return;
    const again = new TaskSearch(filters, () => {});
    refresh = again;
    await again.more();
    if (refresh !== again || isHeld() || (again.state !== 'done' && again.state !== 'more')) return;
    search = again;
    again.follow(() => render(true));
    render(false);
  }

  /** Rows that were ticked stay where they are; and who looks into payloads is told of each time. */
  function isHeld() {
    return selection.size > 0 || filters.has('payload') || isBusy(results);
  }

  function renderBulk() {
    const { tasks } = search;
    fill(bulk, bulkBar({ info, filters, tasks, selection, afterwards: begin }));
    selection.show(main);
  }

  /** @param {boolean} isAsked by the user: then the outcome is said */
  function render(isAsked) {
    const { tasks, state } = search;
    const count = formatCount(tasks.length);
    const isMore = state === 'more' || state === 'stopped';
    const words = t(isMore ? 'tasks.found.more' : 'tasks.found', { n: tasks.length, count });
    if (isAsked && state !== 'searching' && state !== 'failed') announce(words);
    fill(
      bar,
      h('h2', { class: 'count' }, state === 'searching' ? t('tasks.searching', { count }) : words),
      refreshToggle(),
    );
    fill(
      results,
      tasks.length > 0 && taskTable(tasks, t('tasks.caption'), mayBulk(info) ? selection : null),
      state === 'searching' && (search.requests === 0 ? loading() : progress()),
      state === 'failed' && failure(search.error, () => void search.more()),
      state === 'done' && tasks.length === 0 && noTasks(filters),
      isMore &&
        h(
          'div',
          { class: 'more' },
          h(
            'button',
            { type: 'button', 'data-action': 'more', onclick: () => void search.more() },
            t(state === 'stopped' ? 'tasks.goOn' : 'tasks.more'),
          ),
          h('span', { class: 'muted' }, t('tasks.searched', { part: percent(search.searched) })),
        ),
    );
    renderBulk();
  }

  function progress() {
    return h(
      'div',
      { class: 'more' },
      h('progress', { max: 1, value: search.searched, 'aria-label': t('tasks.progress') }),
      h('span', { class: 'muted' }, t('tasks.searched', { part: percent(search.searched) })),
      h('button', { type: 'button', 'data-action': 'stop', onclick: () => search.stop() }, t('action.stop')),
    );
  }
}

function refreshToggle() {
  const box = h('input', {
    type: 'checkbox',
    id: 'auto-refresh',
    checked: isRefreshing(),
    onchange: () => writePreference('refresh', box.checked ? null : 'off'),
  });
  return h(
    'span',
    { class: 'check', 'data-own': 'auto-refresh' },
    box,
    h('label', { for: box.id }, t('tasks.refresh')),
  );
}

function isRefreshing() {
  return readPreference('refresh') !== 'off';
}

/**
 * Something is typed, selected or asked just now: the page must hold still.
 *
 * @param {Element} results
 */
function isBusy(results) {
  const active = document.activeElement;
  const selection = getSelection();
  return (
    document.querySelector('dialog[open]') !== null ||
    (active !== null && active.matches('form input, form select')) ||
    (selection !== null && !selection.isCollapsed && results.contains(selection.anchorNode))
  );
}

/** @param {number} part */
function percent(part) {
  return formatNumber(part, { style: 'percent', maximumFractionDigits: part < 0.1 ? 1 : 0 });
}

/** @param {URLSearchParams} filters */
function noTasks(filters) {
  if (filters.size === 0) return nothing(t('tasks.none'), t('tasks.none.hint'));
  return nothing(
    t('tasks.noMatch'),
    t(filters.get('latest') === 'false' ? 'tasks.noMatch.hint' : 'tasks.noMatch.latestHint'),
  );
}
