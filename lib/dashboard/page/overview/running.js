import { serverNow } from '../clock.js';
import { h } from '../dom.js';
import { formatCount, formatDuration } from '../format.js';
import { t } from '../language.js';
import { hashOf } from '../router.js';
import { routeName } from '../routes.js';
import { nothing } from '../states.js';
import { deadTag } from '../status.js';
import { shown } from '../text.js';

/**
 * What runs now, those that run for longest first.
 *
 * @param {import('../../api.ts').OverviewJson} overview
 */
export function runningSection({ at, running, runningTotal }) {
  const sinceMs = Math.max(0, serverNow() - Date.parse(at));
  const rest = runningTotal.count - running.length;
  return h(
    'section',
    { 'aria-labelledby': 'running-title', class: 'panel' },
    h('h2', { id: 'running-title' }, t('running.title')),
    running.length === 0
      ? nothing(t('running.none'), t('running.none.hint'))
      : h(
          'ul',
          { class: 'rows' },
          running.map((task) =>
            h(
              'li',
              { 'data-key': task.id, 'data-status': 'processing' },
              h('a', { href: hashOf('task', { id: task.firstAttemptId }), class: 'id' }, task.firstAttemptId),
              h(
                'span',
                { class: 'grow' },
                routeName(task),
                task.dead && deadTag(),
                h(
                  'span',
                  { class: 'muted small' },
                  t('task.attemptN', { attempt: task.attempt }),
                  task.host !== null && [
                    ' · ',
                    shown(task.host, 40),
                    task.pid !== null && ` ${String(task.pid)}`,
                  ],
                ),
              ),
              h(
                'span',
                { class: 'figure' },
                formatDuration(Math.floor((task.runningMs + sinceMs) / 100) * 100),
              ),
            ),
          ),
        ),
    rest > 0 &&
      h('p', { class: 'muted' }, t('running.more', { count: formatCount(rest, runningTotal.isCapped) })),
  );
}
