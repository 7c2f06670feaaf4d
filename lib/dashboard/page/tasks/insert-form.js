import { act } from '../api-client.js';
import { ask } from '../dialog.js';
import { h } from '../dom.js';
import { check, field, typed } from '../form-field.js';
import { t } from '../language.js';
import { payloadField } from '../payload-field.js';
import { hashOf } from '../router.js';
import { announce } from '../shell.js';
import { suggestions } from '../suggestions.js';

/** @typedef {import('../../api.ts').InfoJson} InfoJson */
/** @typedef {import('../../api.ts').InsertJson} Insert */

/** How long each is, in ms. */
const units = /** @type {const} */ ({ seconds: 1000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 });

/**
 * Opens the form that inserts a task; it is shown when it is there.
 *
 * @param {InfoJson} info
 */
export function insertButton(info) {
  return h(
    'button',
    { type: 'button', 'data-action': 'insert', onclick: () => openForm(info) },
    t('action.insert'),
  );
}

/** @param {InfoJson} info */
function openForm(info) {
  const { topics, load } = suggestions('insert', info);
  void load();
  const topic = h('input', {
    id: 'insert-topic',
    list: topics.id,
    required: true,
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const publication = h('input', { id: 'insert-publication', type: 'checkbox' });
  const payload = payloadField('insert-payload');
  const delay = h('input', { id: 'insert-delay', type: 'number', min: 0, step: 'any' });
  const unit = h(
    'select',
    { 'aria-label': t('insert.delay.unit') },
    Object.keys(units).map((name) =>
      h('option', { value: name }, t(`insert.unit.${/** @type {keyof typeof units} */ (name)}`)),
    ),
  );
  const priority = h('input', { id: 'insert-priority', type: 'number', step: 1, placeholder: 50 });
  const text = (/** @type {string} */ name) =>
    h('input', { id: `insert-${name}`, autocomplete: 'off', spellcheck: 'false' });
  const [key, tenant, group] = [text('key'), text('tenant'), text('group')];
  ask({
    title: t('insert.title'),
    confirm: t('insert.confirm'),
    body: [
      field(t('fact.topic'), topic),
      topics,
      info.publications && check(t('insert.publication'), publication),
      payload.element,
      h(
        'div',
        { class: 'fields' },
        h('div', { class: 'field with-unit' }, field(t('insert.delay'), delay, t('insert.delay.hint')), unit),
        field(t('fact.priority'), priority, t('insert.priority.hint')),
      ),
      field(t('fact.key'), key),
      h(
        'details',
        null,
        h('summary', null, t('insert.more')),
        h('div', { class: 'fields' }, field(t('fact.tenant'), tenant), field(t('fact.group'), group)),
      ),
    ],
    run: async (signal) => {
      const chosen = units[/** @type {keyof typeof units} */ (unit.value)];
      /** @type {Insert} */
      const task = {
        topic: topic.value,
        ...(publication.checked ? { publication: true } : {}),
        ...given('payload', payload.text() === '' ? undefined : payload.text()),
        ...given('delayMs', delay.value === '' ? undefined : Math.round(delay.valueAsNumber * chosen)),
        ...given('priority', priority.value === '' ? undefined : priority.valueAsNumber),
        ...given('externalKey', typed(key)),
        ...given('tenant', typed(tenant)),
        ...given('group', typed(group)),
      };
      /** @type {{ id: string }} */
      const { id } = await act('insert', task, signal);
      announce(t('insert.done', { id }));
      location.hash = hashOf('task', { id });
    },
  });
}

/**
 * @param {keyof Insert} name
 * @param {string | number | undefined} value undefined leaves it out
 */
function given(name, value) {
  return value === undefined ? {} : { [name]: value };
}
