import { h } from '../dom.js';
import { formatCount } from '../format.js';
import { t } from '../language.js';
import { hashOf } from '../router.js';
import { statuses } from '../status.js';
import { icon } from '../icons.js';
import { isoOf, localTimeOf, textFilters } from './filters.js';
import { statusCounts } from './status-counts.js';
import { suggestions } from '../suggestions.js';

/** Where fields would push the tasks out of sight: they are folded away. */
const narrow = matchMedia('(max-width: 640px)');

/** Which fields offer what is known of the queue. @type {Readonly<Record<string, string>>} */
const lists = { topic: 'known-topics', subscription: 'known-subscriptions' };

/**
 * The form that says which tasks to list. What is chosen counts at once, what is typed when it is sent.
 *
 * @param {import('../main.js').ViewContext} context
 * @param {(filters: URLSearchParams) => void} onFilters
 */
export function filterForm({ info, signal }, onFilters) {
  let shownFilters = new URLSearchParams();
  const known = suggestions('known', info, signal);
  const counts = statusCounts(showCounts, signal);
  const figures = statuses.map(() => h('span', { class: 'pill-count' }));
  const boxes = statuses.map((status) =>
    h('input', { type: 'checkbox', name: 'status', value: status, id: `status-${status}` }),
  );
  const names = textFilters.filter((name) => name !== 'payload' || info.payloads);
  const texts = names.map((name) =>
    h('input', {
      id: `filter-${name}`,
      name,
      type: 'search',
      autocomplete: 'off',
      spellcheck: 'false',
      list: lists[name],
      onfocus: lists[name] ? () => void known.load() : null,
      title: name === 'payload' ? t('filter.payload.hint') : null,
    }),
  );
  const since = h('input', { id: 'filter-since', type: 'datetime-local', step: 1 });
  const until = h('input', { id: 'filter-until', type: 'datetime-local', step: 1 });
  const dead = h(
    'select',
    { id: 'filter-dead', onchange: send },
    h('option', { value: '' }, t('filter.dead.any')),
    h('option', { value: 'false' }, t('filter.dead.no')),
    h('option', { value: 'true' }, t('filter.dead.yes')),
  );
  const latest = h('input', { type: 'checkbox', id: 'filter-latest', onchange: send });
  const buried = h(
    'select',
    { id: 'filter-buried', onchange: send },
    h('option', { value: '' }, t('filter.buried.any')),
    h('option', { value: 'true' }, t('filter.buried.all')),
    h('option', { value: 'untreated' }, t('filter.buried.untreated')),
    h('option', { value: 'treated' }, t('filter.buried.treated')),
  );
  const noTopic = h('input', { type: 'checkbox', id: 'filter-no-topic', onchange: send });
  const more = h(
    'details',
    { class: 'more-filters' },
    h('summary', null, t('filter.more')),
    h(
      'div',
      { class: 'fields' },
      names.slice(3).map((name, index) => field(t(`filter.${name}`), texts[index + 3])),
      field(t('filter.since'), since),
      field(t('filter.until'), until),
      field(t('filter.dead'), dead),
      field(t('filter.buried'), buried),
      check(noTopic, t('filter.noTopic')),
    ),
  );
  const summary = h('summary', null, t('filter.fold'));
  const fold = h(
    'details',
    { class: 'fold', open: !narrow.matches },
    summary,
    h(
      'div',
      { class: 'fold-body' },
      h(
        'div',
        { class: 'fields' },
        names.slice(0, 3).map((name, index) => field(t(`filter.${name}`), texts[index])),
      ),
      more,
      h(
        'div',
        { class: 'form-buttons' },
        check(latest, t('filter.latest'), t('filter.latest.hint')),
        h('button', { type: 'button', 'data-action': 'clear', onclick: clear }, t('filter.clear')),
        h('button', { type: 'submit', class: 'primary', 'data-action': 'search' }, t('filter.search')),
      ),
    ),
  );
  narrow.addEventListener('change', () => (fold.open = !narrow.matches), { signal });
  const element = h(
    'form',
    { class: 'filters', role: 'search', 'aria-label': t('filter.label'), onsubmit: send },
    h(
      'fieldset',
      { class: 'pills', onchange: send },
      h('legend', { class: 'unseen' }, t('filter.status')),
      statuses.map((status, index) => pill(status, boxes[index], figures[index])),
    ),
    fold,
    known.topics,
    known.subscriptions,
  );
  return { element, show };

  function showCounts() {
    for (const [index, status] of statuses.entries())
      if (figures[index]) figures[index].textContent = counts.textOf(status, shownFilters);
  }

  /** @param {URLSearchParams} filters */
  function show(filters) {
    shownFilters = filters;
    showCounts();
    const folded = [...filters.keys()].filter((name) => name !== 'status').length;
    summary.textContent =
      folded === 0 ? t('filter.fold') : t('filter.fold.some', { n: folded, count: formatCount(folded) });
    const chosen = (filters.get('status') ?? '').split(',');
    for (const box of boxes) box.checked = chosen.includes(box.value);
    for (const input of texts) input.value = filters.get(input.name) ?? '';
    since.value = localTimeOf(filters.get('since'));
    until.value = localTimeOf(filters.get('until'));
    dead.value = filters.get('dead') ?? '';
    latest.checked = filters.get('latest') !== 'false';
    buried.value = filters.get('buried') ?? '';
    noTopic.checked = filters.get('topic') === '';
    if (
      [...filters.keys()].some((name) =>
        ['key', 'tenant', 'group', 'publication', 'payload', 'since', 'until', 'dead', 'buried'].includes(
          name,
        ),
      ) ||
      noTopic.checked
    )
      more.open = true;
  }

  function clear() {
    const none = new URLSearchParams();
    // At once: what is chosen before the address has changed must not bring the old values back.
    show(none);
    onFilters(none);
  }

  /** @param {Event} event */
  function send(event) {
    event.preventDefault();
    const filters = new URLSearchParams();
    const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
    if (chosen.length > 0) filters.set('status', chosen.join(','));
    for (const input of texts) if (input.value.trim() !== '') filters.set(input.name, input.value.trim());
    if (buried.value !== '') filters.set('buried', buried.value);
    if (noTopic.checked) filters.set('topic', '');
    if (isoOf(since.value) !== '') filters.set('since', isoOf(since.value));
    if (isoOf(until.value) !== '') filters.set('until', isoOf(until.value));
    if (dead.value !== '') filters.set('dead', dead.value);
    if (!latest.checked) filters.set('latest', 'false');
    onFilters(filters);
  }
}

/**
 * @param {(typeof statuses)[number]} status
 * @param {HTMLInputElement | undefined} box
 * @param {HTMLElement | undefined} figure
 */
function pill(status, box, figure) {
  const hasEnded = ['succeeded', 'failed', 'cancelled'].includes(status);
  return h(
    'span',
    { class: `pill status-${status}` },
    box,
    h(
      'label',
      { for: box?.id, title: t(hasEnded ? 'filter.count.ended' : 'filter.count') },
      icon(status),
      t(`status.${status}`),
      figure,
    ),
  );
}

/** Leads to one task by its id. */
export function goToTask() {
  const input = h('input', {
    id: 'task-id',
    inputmode: 'numeric',
    pattern: '[0-9]{1,19}',
    required: true,
    autocomplete: 'off',
    size: 12,
  });
  return h(
    'form',
    {
      class: 'go-to',
      onsubmit: (event) => {
        event.preventDefault();
        location.hash = hashOf('task', { id: input.value.trim() });
      },
    },
    h('label', { for: 'task-id' }, t('tasks.goTo')),
    input,
    h('button', { type: 'submit', 'data-action': 'go-to' }, t('tasks.goTo.button')),
  );
}

/**
 * @param {string} label
 * @param {HTMLElement | undefined} input
 */
function field(label, input) {
  return h('div', { class: 'field' }, h('label', { for: input?.id }, label), input);
}

/**
 * @param {HTMLInputElement} input
 * @param {string} label
 * @param {string} [hint]
 */
function check(input, label, hint) {
  return h('span', { class: 'check', title: hint }, input, h('label', { for: input.id }, label));
}
