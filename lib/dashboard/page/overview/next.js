import { serverNow } from '../clock.js';
import { h } from '../dom.js';
import { formatDuration } from '../format.js';
import { t } from '../language.js';
import { hashOf } from '../router.js';
import { routeName } from '../routes.js';
import { nothing } from '../states.js';
import { deadTag } from '../status.js';

/**
 * The scheduled tasks that are due next.
 *
 * @param {import('../../api.ts').OverviewJson} overview
 */
export function nextSection({ scheduled }) {
  return h(
    'section',
    { 'aria-labelledby': 'next-title', class: 'panel' },
    h('h2', { id: 'next-title' }, t('next.title')),
    scheduled.length === 0
      ? nothing(t('next.none'), t('next.none.hint'))
      : h(
          'ul',
          { class: 'rows' },
          scheduled.map((task) => {
            const inMs = Date.parse(task.dueAt) - serverNow();
            return h(
              'li',
              { 'data-key': task.id, 'data-status': 'scheduled' },
              h('a', { href: hashOf('task', { id: task.firstAttemptId }), class: 'id' }, task.firstAttemptId),
              h('span', { class: 'grow' }, routeName(task), task.dead && deadTag()),
              h(
                'time',
                { class: `figure${inMs < -5000 ? ' bad' : ''}`, datetime: task.dueAt, title: task.dueAt },
                inMs < 0
                  ? t('next.late', { duration: formatDuration(roundToSecond(-inMs)) })
                  : t('time.in', { duration: formatDuration(roundToSecond(inMs)) }),
              ),
            );
          }),
        ),
  );
}

/** @param {number} ms */
function roundToSecond(ms) {
  return Math.max(1000, Math.round(ms / 1000) * 1000);
}
