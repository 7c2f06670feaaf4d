import { h } from '../dom.js';
import { formatCount } from '../format.js';
import { t } from '../language.js';
import { statuses } from '../status.js';
import { bulkAction } from './bulk-action.js';
import { bulkFilterOf } from './filters.js';

/** @typedef {import('../../api.ts').BulkAction} BulkAction */
/** @typedef {import('../../api.ts').TaskJson} TaskJson */

/**
 * Which tasks each is for, in the order in which they are offered: harmless ones first. Cancelled tasks are retried one by one,
 * or where the filter names their status.
 */
const uses = /** @type {const} */ ({
  'retry-all': (/** @type {string} */ status) => status === 'failed',
  'cancel-all': (/** @type {string} */ status) => ['scheduled', 'pending', 'retrying'].includes(status),
  'delete-all': (/** @type {string} */ status) => status !== 'processing',
});

const known = /** @type {readonly BulkAction[]} */ (Object.keys(uses));

/** @param {import('../../api.ts').InfoJson} info */
export function mayBulk({ actions }) {
  return known.some((action) => actions.includes(action));
}

/**
 * What can be done with several tasks at once: with those that were selected, else with all that match the filter.
 *
 * @param {object} given
 * @param {import('../../api.ts').InfoJson} given.info
 * @param {URLSearchParams} given.filters
 * @param {readonly TaskJson[]} given.tasks those that are shown
 * @param {import('./selection.js').Selection} given.selection
 * @param {() => void} given.afterwards
 */
export function bulkBar({ info, filters, tasks, selection, afterwards }) {
  if (tasks.length === 0 || !mayBulk(info)) return null;
  const isSelected = selection.size > 0;
  const allowed = known.filter((action) => info.actions.includes(action));
  return h(
    'div',
    { class: 'bulk-bar', role: 'group', 'aria-label': t('selection.label'), 'data-key': 'bulk' },
    selection.boxOfAll(tasks),
    h(
      'span',
      { role: 'status', class: isSelected ? 'strong' : 'unseen' },
      isSelected && t('selection.count', { n: selection.size, count: formatCount(selection.size) }),
    ),
    h(
      'span',
      { class: 'buttons' },
      isSelected ? [allowed.map((action) => ofSelected(action)), clearButton()] : ofMatching(),
    ),
  );

  /** @param {BulkAction} action */
  function ofSelected(action) {
    const ids = selection.tasks.flatMap(({ id, status }) => (uses[action](status) ? [id] : []));
    return (
      ids.length > 0 && button(action, t(`${action}.selected`, { count: formatCount(ids.length) }), { ids })
    );
  }

  function clearButton() {
    return h(
      'button',
      {
        type: 'button',
        class: 'link',
        'data-action': 'clear-selection',
        'data-key': 'clear',
        onclick: () => {
          selection.clear();
          document.getElementById('select-all')?.focus();
        },
      },
      t('selection.clear'),
    );
  }

  function ofMatching() {
    // Everything there is: that is for who has chosen something, and for the command line.
    if (filters.size === 0 || (filters.size === 1 && filters.has('latest'))) return null;
    if (filters.has('payload')) return h('span', { class: 'muted small' }, t('bulk.notByPayload'));
    const listed = statusesOf(filters);
    return allowed
      .filter(
        (action) => listed.some(uses[action]) || (action === 'retry-all' && listed.includes('cancelled')),
      )
      .map((action) => button(action, t(`${action}.button`), { filter: bulkFilterOf(filters) }));
  }

  /**
   * @param {BulkAction} action
   * @param {string} label
   * @param {import('../../api.ts').BulkScopeJson} scope
   */
  function button(action, label, scope) {
    return h(
      'button',
      {
        type: 'button',
        class: action === 'retry-all' ? null : 'danger-quiet',
        'data-action': action,
        'data-key': action,
        onclick: () => bulkAction(action, scope, afterwards),
      },
      label,
    );
  }
}

/** @param {URLSearchParams} filters */
function statusesOf(filters) {
  if (filters.has('buried')) return ['failed'];
  const chosen = filters.get('status');
  return chosen === null ? [...statuses] : chosen.split(',');
}
