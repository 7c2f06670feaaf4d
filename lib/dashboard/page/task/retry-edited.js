import { act, read } from '../api-client.js';
import { cancelButton, openDialog, questionForm } from '../dialog.js';
import { h } from '../dom.js';
import { fill } from '../fill.js';
import { field, typed } from '../form-field.js';
import { indentedJson } from '../indented-json.js';
import { t } from '../language.js';
import { payloadField } from '../payload-field.js';
import { announce } from '../shell.js';
import { attempt, failure, loading } from '../states.js';

/** @typedef {import('../../api.ts').PayloadJson} Payload */

/**
 * Retries a failed task with another payload. It can be edited where all of it is shown; to look at it is recorded, as ever.
 *
 * @param {string} id
 * @param {() => void} afterwards
 */
export function openRetryEdited(id, afterwards) {
  openDialog(t('retry-edited.title', { id }), ({ signal, close }) => {
    const content = h('div');
    void load();
    return content;

    async function load() {
      fill(content, loading(), h('div', { class: 'dialog-buttons' }, cancelButton(close)));
      await attempt(
        async () => {
          /** @type {Payload} */
          const payload = await read(`tasks/${encodeURIComponent(id)}/payload`, null, signal);
          if (payload.isWhole) content.replaceChildren(form(payload));
          else fill(content, h('p', null, t('retry-edited.notWhole')), closing());
        },
        (error) =>
          fill(
            content,
            failure(error, () => void load()),
            closing(),
          ),
      );
      if (!content.contains(document.activeElement)) content.querySelector('textarea')?.focus();
    }

    function closing() {
      return h('div', { class: 'dialog-buttons' }, cancelButton(close));
    }

    /** @param {Payload} given */
    function form({ payload, isJson, redacted }) {
      const before = payload?.text ?? '';
      const text = isJson ? indentedJson(before) : before;
      const input = payloadField('edited-payload', text, 'payloadField.emptyText');
      // Line ends as a field has them.
      const shownText = input.text();
      const reason = h('textarea', { id: 'action-reason', rows: 2, maxlength: 1000 });
      return questionForm(
        {
          body: [
            h('p', null, t('retry-edited.body')),
            input.element,
            redacted > 0 && h('p', { class: 'muted' }, t('retry-edited.redacted')),
            field(t('retry-edited.reason'), reason),
          ],
          confirm: t('retry-edited.confirm'),
          run: async () => {
            const edited = input.text();
            // What was only looked at stays as it is, to the letter.
            const given = edited === shownText ? before : withLineEndsOf(before, edited);
            await act('retry-edited', { id, payload: given, reason: typed(reason) }, signal);
            announce(t('retry-edited.done'));
            afterwards();
          },
        },
        { signal, close },
      );
    }
  });
}

/**
 * Fields for text have one kind of line end: text that came with the other goes back with it.
 *
 * @param {string} before
 * @param {string} text
 */
function withLineEndsOf(before, text) {
  return before.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text;
}
