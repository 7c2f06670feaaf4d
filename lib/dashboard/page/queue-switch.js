import { apiBase } from './api-client.js';
import { h } from './dom.js';
import { t } from './language.js';
import { visibleLine } from './text.js';

/**
 * Leads to the other queues of the application; null where there is none, or where a proxy has given the page an address from
 * which theirs cannot be told.
 *
 * @param {import('../api.ts').InfoJson} info
 */
export function queueSwitch({ queue, queues }) {
  const own = queues.find(({ name }) => name === queue);
  const base = own && new URL('..', apiBase).pathname;
  if (!own || !base?.endsWith(`/${own.path}/`) || queues.length < 2) return null;
  const root = base.slice(0, -own.path.length - 1);
  const select = h(
    'select',
    {
      id: 'queue',
      class: 'queue-switch',
      'aria-label': t('shell.queue'),
      'data-own': 'queue',
      onchange: () => location.assign(`${root}${select.value}`),
    },
    queues.map(({ name, path }) => h('option', { value: path, selected: name === queue }, visibleLine(name))),
  );
  // The browser keeps what was chosen when it comes back to this page.
  select.value = own.path;
  return select;
}
