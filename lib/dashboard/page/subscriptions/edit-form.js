import { act } from '../api-client.js';
import { ask } from '../dialog.js';
import { h } from '../dom.js';
import { field } from '../form-field.js';
import { t } from '../language.js';
import { announce } from '../shell.js';
import { headerRows } from './header-rows.js';

/** @typedef {import('../../api.ts').SubscriptionJson} Subscription */

/**
 * Opens the form of a subscription; only what was changed is sent.
 *
 * @param {Subscription} subscription
 * @param {() => unknown} afterwards
 */
export function editButton(subscription, afterwards) {
  return h(
    'button',
    {
      type: 'button',
      'data-action': 'edit-subscription',
      'data-key': 'edit',
      onclick: () => openForm(subscription, afterwards),
    },
    t('action.edit'),
  );
}

/**
 * @param {Subscription} subscription
 * @param {() => unknown} afterwards
 */
function openForm(subscription, afterwards) {
  const topic = h('input', { id: 'edit-topic', value: subscription.topic, required: true });
  const tenant = h('input', { id: 'edit-tenant', value: subscription.tenant ?? '' });
  const group = h('input', { id: 'edit-group', value: subscription.group ?? '' });
  const url = h('input', {
    id: 'edit-url',
    type: 'url',
    autocomplete: 'off',
    placeholder: subscription.url === null ? 'https://' : t('edit.unchanged'),
    'aria-describedby': 'edit-url-hint',
  });
  const removeUrl = h('input', {
    id: 'edit-url-remove',
    type: 'checkbox',
    onchange: () => {
      url.disabled = removeUrl.checked;
    },
  });
  const method = h('input', {
    id: 'edit-method',
    value: subscription.httpMethod ?? '',
    placeholder: 'POST',
    size: 8,
  });
  const headers = headerRows(subscription.headers);
  const isCode = subscription.url === null;
  const webhookFields = h(
    'div',
    { class: 'dialog-body' },
    field('URL', url, t(isCode ? 'edit.toWebhook.hint' : 'edit.url.hint')),
    !isCode &&
      h('span', { class: 'check' }, removeUrl, h('label', { for: removeUrl.id }, t('edit.url.remove'))),
    field(t('subscription.method'), method),
    headers.element,
  );
  ask({
    title: t('edit.title'),
    confirm: t('action.save'),
    body: [
      field(t('fact.topic'), topic),
      field(t('fact.tenant'), tenant, t('edit.empty')),
      field(t('fact.group'), group, t('edit.empty')),
      isCode ? h('details', null, h('summary', null, t('edit.toWebhook')), webhookFields) : webhookFields,
    ],
    run: async (signal) => {
      const changes = {
        ...changed('topic', topic.value, subscription.topic),
        ...changed('tenant', orNull(tenant.value), subscription.tenant),
        ...changed('group', orNull(group.value), subscription.group),
        ...changed('httpMethod', orNull(method.value), subscription.httpMethod),
        ...urlChange(url.value.trim(), removeUrl.checked),
        ...headers.change(),
      };
      if (Object.keys(changes).length === 0) throw new Error(t('edit.nothing'));
      await act('edit-subscription', { id: subscription.id, ...changes }, signal);
      announce(t('edit.done'));
      void afterwards();
    },
  });
}

/**
 * @param {string} name
 * @param {string | null} value
 * @param {string | null} before
 * @returns {Record<string, string | null>}
 */
function changed(name, value, before) {
  return value === before ? {} : { [name]: value };
}

/**
 * The URL is shown without its secrets, so it is not put into the field: empty means as it is.
 *
 * @param {string} url
 * @param {boolean} isRemoved
 */
function urlChange(url, isRemoved) {
  if (isRemoved) return { url: null };
  return url === '' ? {} : { url };
}

/** @param {string} text */
function orNull(text) {
  return text.trim() === '' ? null : text;
}
