import { act, isAbort } from '../api-client.js';
import { cancelButton, openDialog } from '../dialog.js';
import { h } from '../dom.js';
import { fill } from '../fill.js';
import { formatCount } from '../format.js';
import { t } from '../language.js';
import { routeKey, routeName } from '../routes.js';
import { loading, wordsOf } from '../states.js';
import { retryFilterOf } from './filters.js';

/** @typedef {import('../../api.ts').RetryPlanJson} RetryPlan */
/** @typedef {import('../../api.ts').RetryBlockJson} RetryBlock */

/**
 * Retries all failed tasks that match: counts them first, then goes through them in blocks and can be stopped between.
 *
 * @param {URLSearchParams} filters
 * @param {() => void} afterwards when anything was retried
 */
export function retryAll(filters, afterwards) {
  const filter = retryFilterOf(filters);
  const body = h('div', { class: 'dialog-body' });
  const buttons = h('div', { class: 'dialog-buttons' });
  /** @type {RetryPlan | null} */
  let plan = null;
  let after = '0';
  let retried = 0;
  let isStopping = false;

  const dialog = openDialog(t('retryAll.title'), ({ signal, close }) => {
    signal.addEventListener('abort', () => {
      isStopping = true;
      if (retried > 0) afterwards();
    });
    void count();
    return [body, buttons];

    async function count() {
      fill(body, h('p', null, t('retryAll.counting')), loading());
      fill(buttons, cancelButton(close));
      try {
        plan = await act('retry-all/count', { filter }, signal);
        showPlan();
      } catch (error) {
        if (isAbort(error)) return;
        fill(body, problem(error));
        fill(
          buttons,
          cancelButton(close),
          button('again', t('action.again'), () => void count()),
        );
      }
    }

    function showPlan() {
      if (!plan) return;
      const { total, counts } = plan;
      fill(
        body,
        h(
          'p',
          { role: 'status' },
          t(total === 0 ? 'retryAll.none' : 'retryAll.count', { n: total, count: formatCount(total) }),
        ),
        total > 0 && [byRoute(counts), h('p', { class: 'muted' }, t('retryAll.hint'))],
      );
      fill(
        buttons,
        cancelButton(close),
        total > 0 &&
          button(
            'confirm',
            t('retryAll.confirm', { n: total, count: formatCount(total) }),
            () => void run(),
            'primary',
          ),
      );
    }

    async function run() {
      const lastId = plan?.lastId;
      if (lastId === undefined) return;
      isStopping = false;
      showProgress(null);
      try {
        while (!isStopping) {
          // A block that was begun is waited for: what it did is counted.
          /** @type {RetryBlock} */
          const block = await act('retry-all', { filter, lastId, after });
          retried += block.retried;
          if (block.after === null) {
            showEnd('retryAll.done');
            return;
          }
          ({ after } = block);
          showProgress(null);
        }
        showEnd('retryAll.stopped');
      } catch (error) {
        showProgress(error);
      }
    }

    /** @param {unknown} error */
    function showProgress(error) {
      const total = plan?.total ?? 0;
      fill(
        body,
        h('progress', {
          max: Math.max(total, 1),
          value: Math.min(retried, total),
          'aria-label': t('retryAll.title'),
        }),
        h('p', null, t('retryAll.progress', { count: formatCount(retried), total: formatCount(total) })),
        error !== null && problem(error),
      );
      fill(
        buttons,
        error === null
          ? button('stop', t('action.stop'), () => {
              isStopping = true;
            })
          : [cancelButton(close), button('again', t('retryAll.goOn'), () => void run(), 'primary')],
      );
    }

    /** @param {'retryAll.done' | 'retryAll.stopped'} key */
    function showEnd(key) {
      const words = t(key, { n: retried, count: formatCount(retried) });
      fill(body, h('p', { role: 'status' }, words));
      fill(
        buttons,
        cancelButton(close),
        key === 'retryAll.stopped' && button('again', t('retryAll.goOn'), () => void run(), 'primary'),
      );
    }
  });
  return dialog;
}

/** @param {RetryPlan['counts']} counts */
function byRoute(counts) {
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t('retryAll.byRoute') },
    h(
      'table',
      null,
      h('caption', { class: 'unseen' }, t('retryAll.byRoute')),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          h('th', { scope: 'col' }, t('routes.route')),
          h('th', { scope: 'col', class: 'number' }, t('retryAll.tasks')),
        ),
      ),
      h(
        'tbody',
        null,
        counts
          .slice(0, 200)
          .map((each) =>
            h(
              'tr',
              { 'data-key': routeKey(each) },
              h('th', { scope: 'row' }, routeName(each)),
              h('td', { class: 'number' }, formatCount(each.count)),
            ),
          ),
      ),
    ),
  );
}

/** @param {unknown} error */
function problem(error) {
  return h('p', { class: 'problem-text text', role: 'alert' }, wordsOf(error));
}

/**
 * @param {string} action
 * @param {string} label
 * @param {() => void} onclick
 * @param {string} [look]
 */
function button(action, label, onclick, look) {
  return h(
    'button',
    { type: 'button', class: look, 'data-action': action, 'data-key': action, onclick },
    label,
  );
}
