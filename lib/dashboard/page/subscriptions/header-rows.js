import { h } from '../dom.js';
import { t } from '../language.js';
import { shown } from '../text.js';

/**
 * Headers of a subscription. Their values are not told, so they are replaced as a whole or not at all.
 *
 * @param {readonly string[]} names those that are there
 * @param {boolean} [isNew] there is nothing yet that could stay as it is
 */
export function headerRows(names, isNew = false) {
  let count = 0;
  const rows = h('div', { class: 'header-rows' });
  const add = h(
    'button',
    { type: 'button', class: 'small', 'data-action': 'add-header', onclick: () => addRow('')?.focus() },
    t('headers.add'),
  );
  const part = h(
    'div',
    { hidden: !isNew },
    !isNew && h('p', { class: 'muted small' }, t('headers.hint')),
    rows,
    add,
  );
  const replace = h('input', { type: 'checkbox', id: 'edit-headers', onchange: toggle });
  const element = h(
    'fieldset',
    { class: 'headers' },
    h('legend', null, t('subscription.headers')),
    !isNew &&
      h(
        'p',
        { class: 'small' },
        names.length === 0 ? t('headers.none') : names.map((name, index) => [index > 0 && ', ', shown(name)]),
      ),
    !isNew && h('span', { class: 'check' }, replace, h('label', { for: replace.id }, t('headers.replace'))),
    part,
  );
  return { element, change };

  function toggle() {
    part.hidden = !replace.checked;
    if (replace.checked && rows.childElementCount === 0)
      for (const name of names.length > 0 ? names : ['']) addRow(name);
  }

  /** @param {string} name */
  function addRow(name) {
    count += 1;
    const label = String(count);
    const row = h(
      'div',
      { class: 'header-row' },
      h('input', {
        'aria-label': t('headers.name', { n: label }),
        value: name,
        placeholder: t('headers.namePlaceholder'),
        autocomplete: 'off',
      }),
      h('input', {
        'aria-label': t('headers.value', { n: label }),
        placeholder: t('headers.valuePlaceholder'),
        autocomplete: 'off',
      }),
      h(
        'button',
        {
          type: 'button',
          class: 'small',
          'data-action': 'remove-header',
          'aria-label': t('headers.remove', { n: label }),
          onclick: () => {
            row.remove();
            add.focus();
          },
        },
        '✕',
      ),
    );
    rows.append(row);
    return row.querySelector('input');
  }

  /** @returns {{ headers?: Record<string, string> | null }} */
  function change() {
    if (isNew ? rows.childElementCount === 0 : !replace.checked) return {};
    /** @type {Record<string, string>} */
    const headers = {};
    for (const row of rows.children) {
      const [name, value] = [...row.querySelectorAll('input')].map((input) => input.value.trim());
      if (!name) continue;
      if (!value) throw new Error(t('headers.noValue', { name }));
      headers[name] = value;
    }
    return { headers: Object.keys(headers).length === 0 ? null : headers };
  }
}
