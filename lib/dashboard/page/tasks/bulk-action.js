import { act, isAbort } from '../api-client.js';
import { cancelButton, openDialog } from '../dialog.js';
import { h } from '../dom.js';
import { fill } from '../fill.js';
import { check, field, typed } from '../form-field.js';
import { formatCount } from '../format.js';
import { t } from '../language.js';
import { routeKey, routeName } from '../routes.js';
import { loading, wordsOf } from '../states.js';

/** @typedef {import('../../api.ts').BulkAction} BulkAction */
/** @typedef {import('../../api.ts').BulkScopeJson} BulkScope */
/** @typedef {import('../../api.ts').BulkPlanJson} BulkPlan */
/** @typedef {import('../../api.ts').BulkBlockJson} BulkBlock */

/**
 * Does something with many tasks: counts them first and asks, then goes through them in blocks and can be stopped between.
 *
 * @param {BulkAction} action
 * @param {BulkScope} scope those that match, or those that were selected
 * @param {() => void} afterwards when anything was done
 */
export function bulkAction(action, scope, afterwards) {
  const selected = scope.ids?.length ?? null;
  const body = h('div', { class: 'dialog-body' });
  const buttons = h('div', { class: 'dialog-buttons' });
  const reason = h('textarea', { id: 'bulk-reason', rows: 2, maxlength: 1000 });
  /** @type {BulkPlan | null} */
  let plan = null;
  let after = '0';
  let done = 0;
  let refusals = 0;
  /** @type {BulkBlock['refused']} */
  let refused;
  let isStopping = false;
  const title = t(`${action}.${selected === null ? 'title' : 'titleSelected'}`);

  return openDialog(title, ({ signal, close }) => {
    signal.addEventListener('abort', () => {
      isStopping = true;
      if (done > 0) afterwards();
    });
    void count();
    return h(
      'form',
      {
        method: 'dialog',
        onsubmit: (event) => {
          event.preventDefault();
          void run();
        },
      },
      body,
      buttons,
    );

    async function count() {
      show([h('p', null, t(`${action}.counting`)), loading()], [cancelButton(close)]);
      try {
        plan = await act(`${action}/count`, scope, signal);
        showPlan();
      } catch (error) {
        if (isAbort(error)) return;
        show([problem(error)], [cancelButton(close), button('again', t('action.again'), () => void count())]);
      }
    }

    function showPlan() {
      if (!plan) return;
      const { total, counts } = plan;
      const words = h('p', { role: 'status' }, countedWords(total));
      if (total === 0) show([words], [cancelButton(close)]);
      else show([words, byRoute(counts), ...terms()], [cancelButton(close), confirmButton(total)]);
    }

    /** @param {number} total */
    function countedWords(total) {
      if (total === 0) return t(`${action}.${selected === null ? 'none' : 'noneSelected'}`);
      const values = { n: total, count: formatCount(total) };
      return selected === null
        ? t(`${action}.count`, values)
        : t(`${action}.countSelected`, { ...values, selected: formatCount(selected) });
    }

    /** What it means, and what it takes: nothing is deleted by pressing one button too many. */
    function terms() {
      return [
        h('p', { class: 'muted' }, t(`${action}.hint`)),
        action === 'cancel-all' && field(t('action.reason'), reason),
        action === 'delete-all' &&
          check(t('bulk.sure'), h('input', { type: 'checkbox', id: 'bulk-sure', required: true })),
      ];
    }

    /** @param {number} total */
    function confirmButton(total) {
      return h(
        'button',
        {
          type: 'submit',
          class: action === 'retry-all' ? 'primary' : 'danger',
          'data-action': 'confirm',
          'data-key': 'confirm',
        },
        t(`${action}.confirm`, { n: total, count: formatCount(total) }),
      );
    }

    async function run() {
      if (!plan) return;
      const { lastId } = plan;
      const why = action === 'cancel-all' ? typed(reason) : undefined;
      isStopping = false;
      showProgress(null);
      try {
        while (!isStopping) {
          // A block that was begun is waited for: what it did is counted.
          /** @type {BulkBlock} */
          const block = await act(action, { ...scope, lastId, after, reason: why });
          done += block.done;
          if (block.refused) {
            refusals += 1;
            ({ refused } = block);
          }
          if (block.after === null) {
            showEnd('done');
            return;
          }
          ({ after } = block);
          showProgress(null);
        }
        showEnd('stopped');
      } catch (error) {
        showProgress(error);
      }
    }

    /** @param {unknown} error */
    function showProgress(error) {
      const total = plan?.total ?? 0;
      show(
        [
          h('progress', { max: Math.max(total, 1), value: Math.min(done, total), 'aria-label': title }),
          h('p', null, t(`${action}.progress`, { count: formatCount(done), total: formatCount(total) })),
          error !== null && problem(error),
        ],
        error === null
          ? [
              button('stop', t('action.stop'), () => {
                isStopping = true;
              }),
            ]
          : [cancelButton(close), goOnButton()],
      );
    }

    /** @param {'done' | 'stopped'} end */
    function showEnd(end) {
      const words = t(`${action}.${end}`, { n: done, count: formatCount(done) });
      show(
        [h('p', { role: 'status' }, words), refusedWords()],
        [cancelButton(close), end === 'stopped' && goOnButton()],
      );
    }

    /** Tasks that a constraint or a trigger keeps as they are. */
    function refusedWords() {
      if (!refused) return false;
      const { id, message } = refused;
      const values = { n: refusals, count: formatCount(refusals), id, reason: message };
      return h('p', { class: 'problem-text text', role: 'alert' }, t('bulk.refused', values));
    }

    function goOnButton() {
      return button('again', t('bulk.goOn'), () => void run(), 'primary');
    }
  });

  /**
   * @param {readonly import('../dom.js').Child[]} inside
   * @param {readonly import('../dom.js').Child[]} below
   */
  function show(inside, below) {
    const hadFocus = buttons.contains(document.activeElement);
    fill(body, inside);
    fill(buttons, below);
    // The button that was pressed may be gone: who uses the keyboard goes on at the next one.
    if (hadFocus && !buttons.contains(document.activeElement)) buttons.querySelector('button')?.focus();
  }
}

/** @param {BulkPlan['counts']} counts */
function byRoute(counts) {
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t('bulk.byRoute') },
    h(
      'table',
      null,
      h('caption', { class: 'unseen' }, t('bulk.byRoute')),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          h('th', { scope: 'col' }, t('routes.route')),
          h('th', { scope: 'col', class: 'number' }, t('bulk.tasks')),
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
