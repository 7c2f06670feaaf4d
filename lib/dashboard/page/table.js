import { h } from './dom.js';

/** @typedef {import('./dom.js').Child} Child */

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: Row) => Child} cell
 * @property {'number' | 'wide' | 'name' | 'head' | 'actions' | 'select'} [kind] `head` names the row; `name` and `wide` need room
 */

/**
 * A table that becomes a list of cards where it is narrow. Roles are written out, as `display` takes them away.
 *
 * @template Row
 * @param {object} given
 * @param {string} given.caption
 * @param {readonly Column<Row>[]} given.columns
 * @param {readonly Row[]} given.rows
 * @param {(row: Row) => string} given.key
 * @param {(row: Row) => Readonly<Record<string, import('./dom.js').Attribute>>} [given.attributes]
 */
export function table({ caption, columns, rows, key, attributes }) {
  return h(
    'table',
    { class: 'cards', role: 'table' },
    h('caption', { class: 'unseen' }, caption),
    h(
      'thead',
      { role: 'rowgroup' },
      h(
        'tr',
        { role: 'row' },
        columns.map(({ label, kind }) =>
          h(
            'th',
            { scope: 'col', role: 'columnheader', class: kind },
            kind === 'actions' || kind === 'select' ? h('span', { class: 'unseen' }, label) : label,
          ),
        ),
      ),
    ),
    h(
      'tbody',
      { role: 'rowgroup' },
      rows.map((row) =>
        h(
          'tr',
          { role: 'row', 'data-key': key(row), ...attributes?.(row) },
          columns.map((column) => cellOf(column, row)),
        ),
      ),
    ),
  );
}

/**
 * @template Row
 * @param {Column<Row>} column
 * @param {Row} row
 */
function cellOf({ label, cell, kind }, row) {
  const inside = cell(row);
  if (kind === 'head') return h('th', { scope: 'row', role: 'rowheader', class: kind }, inside);
  const isEmpty = inside === null || inside === '';
  return h(
    'td',
    { role: 'cell', class: isEmpty ? `${kind ?? ''} no-value` : kind, 'data-label': label },
    isEmpty ? null : h('span', { class: 'value' }, inside),
  );
}
