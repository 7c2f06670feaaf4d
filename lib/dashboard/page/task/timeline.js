import { timeOf } from '../clock.js';
import { h } from '../dom.js';
import { formatCount } from '../format.js';
import { t } from '../language.js';
import { statusBadge, statusClass } from '../status.js';
import { ranFor } from '../tasks/task-table.js';
import { longText } from '../text.js';
import { waitedFor } from './facts.js';

/** @typedef {import('../../api.ts').AttemptJson} Attempt */

/**
 * The attempts of a task, one after the other.
 *
 * @param {import('../../api.ts').TaskDetailsJson} details
 */
export function timeline({ attempts, attemptsTotal, current }) {
  const left = attemptsTotal - attempts.length;
  return h(
    'section',
    { 'aria-labelledby': 'timeline-title' },
    h('h2', { id: 'timeline-title' }, t('timeline.title')),
    left > 0 && h('p', { class: 'muted' }, t('timeline.left', { n: left, count: formatCount(left) })),
    h(
      'ol',
      { class: 'timeline' },
      attempts.map((attempt) => attemptItem(attempt)),
      current.nextAttemptAt !== null &&
        !current.retried &&
        h(
          'li',
          { class: 'attempt upcoming', 'data-key': 'next' },
          h('p', null, t('timeline.next'), ' ', timeOf(current.nextAttemptAt)),
        ),
    ),
  );
}

/** @param {Attempt} attempt */
function attemptItem(attempt) {
  const { id, status, message, error, result } = attempt;
  return h(
    'li',
    { class: `attempt ${statusClass(status)}`, 'data-key': id, 'data-status': status, 'data-attempt': id },
    h(
      'p',
      { class: 'attempt-head' },
      h('strong', null, t('task.attemptN', { attempt: attempt.attempt })),
      statusBadge(status),
      h('span', { class: 'muted id' }, id),
    ),
    h(
      'p',
      { class: 'attempt-times muted' },
      part(t('fact.due'), timeOf(attempt.dueAt)),
      part(t('fact.waited'), waitedFor(attempt)),
      part(t('fact.ran'), ranFor(attempt)),
    ),
    message && h('div', { class: 'attempt-message' }, longText(message, `message:${id}`)),
    result && folded('result', t('timeline.result'), longText(result, `result:${id}`)),
    error && folded('error', t('timeline.error'), longText(error, `error:${id}`)),
  );
}

/**
 * @param {string} name
 * @param {import('../dom.js').Child} value
 */
function part(name, value) {
  return value === null
    ? null
    : h('span', { class: 'nowrap' }, `${name}: `, h('span', { class: 'fact-value' }, value));
}

/**
 * @param {string} kind
 * @param {string} title
 * @param {Element} inside
 */
function folded(kind, title, inside) {
  return h('details', { 'data-details': kind }, h('summary', null, title), inside);
}
