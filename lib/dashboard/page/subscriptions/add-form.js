import { act } from '../api-client.js';
import { ask } from '../dialog.js';
import { h } from '../dom.js';
import { check, field, typed } from '../form-field.js';
import { t } from '../language.js';
import { hashOf } from '../router.js';
import { announce } from '../shell.js';
import { headerRows } from './header-rows.js';
import { suggestions } from '../suggestions.js';

/**
 * Opens the form that adds a subscription; it is shown when it is there.
 *
 * @param {import('../../api.ts').InfoJson} info
 */
export function addSubscriptionButton(info) {
  return h(
    'button',
    { type: 'button', 'data-action': 'add-subscription', onclick: () => openForm(info) },
    t('action.add-subscription'),
  );
}

/** @param {import('../../api.ts').InfoJson} info */
function openForm(info) {
  const { topics, load } = suggestions('add', info);
  void load();
  const input = (/** @type {string} */ name, attributes = {}) =>
    h('input', { id: `add-${name}`, autocomplete: 'off', spellcheck: 'false', ...attributes });
  const id = input('id', { required: true });
  const topic = input('topic', { required: true, list: topics.id });
  const tenant = input('tenant');
  const group = input('group');
  const url = input('url', { type: 'url', oninput: () => showWebhook() });
  const method = input('method', { placeholder: 'POST', size: 8 });
  const headers = headerRows([], true);
  const active = input('active', { type: 'checkbox', checked: true });
  // What only a request has: a handler in code asks for none of it.
  const webhook = h(
    'div',
    { class: 'dialog-body', hidden: true },
    field(t('subscription.method'), method),
    headers.element,
  );
  ask({
    title: t('add.title'),
    confirm: t('add.confirm'),
    body: [
      field(t('add.id'), id, t('add.id.hint')),
      field(t('fact.topic'), topic),
      topics,
      field('URL', url, t('add.url.hint')),
      webhook,
      field(t('fact.tenant'), tenant, t('edit.empty')),
      field(t('fact.group'), group, t('edit.empty')),
      check(t('add.active'), active),
    ],
    run: async (signal) => {
      const address = typed(url);
      /** @type {import('../../api.ts').SubscriptionJson} */
      const added = await act(
        'add-subscription',
        {
          id: id.value,
          topic: topic.value,
          tenant: typed(tenant),
          group: typed(group),
          url: address,
          ...(address === undefined ? {} : { httpMethod: typed(method), ...headers.change() }),
          active: active.checked,
        },
        signal,
      );
      announce(t('add.done'));
      location.hash = hashOf('subscription', { id: added.id });
    },
  });

  function showWebhook() {
    webhook.hidden = url.value.trim() === '';
  }
}
