import { h } from './dom.js';
import { formatCount } from './format.js';
import { t } from './language.js';
import { visibleText } from './text.js';

/** Children that are made at once; the next ones when asked for. */
const pageSize = 100;
const longestText = 500;

/** A number as it is written in JSON: JavaScript rounds long ones. */
export class WrittenNumber {
  #text;

  /** @param {string} text */
  constructor(text) {
    this.#text = text;
  }

  toString() {
    return this.#text;
  }
}

/**
 * A value of JSON as a tree: children are made when they are opened, so that size does not matter. Arrow keys move,
 * open and close, as in any tree.
 *
 * @param {unknown} value
 * @param {string} label
 */
export function jsonTree(value, label) {
  const root = h('ul', {
    class: 'json',
    role: 'tree',
    'aria-label': label,
    onkeydown: onKey,
    onclick: onClick,
  });
  const first = item(null, value, 1);
  root.append(first);
  toggle(first, true);
  first.tabIndex = 0;
  return root;
}

/** What each item holds, as long as its children are not made. @type {WeakMap<Element, unknown>} */
const values = new WeakMap();

/**
 * @param {string | number | null} name
 * @param {unknown} value
 * @param {number} level
 */
function item(name, value, level) {
  const size = sizeOf(value);
  const line = h(
    'span',
    { class: 'json-line' },
    name !== null && [
      h(
        'bdi',
        { class: typeof name === 'number' ? 'json-index' : 'json-name' },
        typeof name === 'number' ? name : visibleText(cut(name)),
      ),
      ': ',
    ],
    size === null ? leaf(value) : summary(value, size),
  );
  const element = h(
    'li',
    {
      role: 'treeitem',
      tabindex: '-1',
      'aria-level': level,
      'aria-expanded': size === null || size === 0 ? null : 'false',
    },
    line,
  );
  if (size !== null && size > 0) values.set(element, value);
  return element;
}

/**
 * @param {HTMLElement} element
 * @param {boolean} isOpen
 */
function toggle(element, isOpen) {
  if (!element.hasAttribute('aria-expanded')) return;
  element.setAttribute('aria-expanded', String(isOpen));
  if (!isOpen || element.querySelector(':scope > ul')) return;
  const group = h('ul', { role: 'group' });
  element.append(group);
  addPage(group, values.get(element), 0, Number(element.getAttribute('aria-level')) + 1);
}

/**
 * @param {HTMLElement} group
 * @param {unknown} value
 * @param {number} from
 * @param {number} level
 * @returns {HTMLElement | null} the first that was added
 */
function addPage(group, value, from, level) {
  const isList = Array.isArray(value);
  const entries = isList ? value : Object.entries(/** @type {object} */ (value));
  const added = entries
    .slice(from, from + pageSize)
    .map((entry, index) => (isList ? item(from + index, entry, level) : item(entry[0], entry[1], level)));
  group.append(...added);
  const rest = entries.length - from - pageSize;
  if (rest > 0) {
    const more = h(
      'li',
      { role: 'treeitem', tabindex: '-1', 'aria-level': level, class: 'json-more' },
      h(
        'span',
        { class: 'json-line' },
        t('json.more', { count: formatCount(Math.min(rest, pageSize)), rest: formatCount(rest) }),
      ),
    );
    more.addEventListener('more', () => {
      const next = addPage(group, value, from + pageSize, level);
      more.remove();
      if (next) focusOn(next);
    });
    group.append(more);
  }
  return added[0] ?? null;
}

/** @param {Event} event */
function onClick(event) {
  if (!(event.target instanceof Element) || !event.target.closest('.json-line')) return;
  const element = event.target.closest('li');
  // A click at the end of a selection is no click.
  if (!element || getSelection()?.isCollapsed === false) return;
  focusOn(element);
  use(element);
}

/** @param {HTMLElement} element */
function use(element) {
  if (element.classList.contains('json-more')) element.dispatchEvent(new Event('more'));
  else toggle(element, element.getAttribute('aria-expanded') !== 'true');
}

/** @param {Event} event */
function onKey(event) {
  if (!(event instanceof KeyboardEvent) || !(event.currentTarget instanceof Element)) return;
  const element = event.target instanceof Element ? event.target.closest('li') : null;
  if (!element || event.ctrlKey || event.metaKey || event.altKey) return;
  const isOpen = element.getAttribute('aria-expanded') === 'true';
  const items = [...event.currentTarget.querySelectorAll('li')].filter(
    (each) => !each.closest('[aria-expanded="false"] > ul'),
  );
  const at = items.indexOf(element);
  const parent = element.parentElement?.closest('li');
  /** @type {Record<string, () => unknown>} */
  const keys = {
    ArrowDown: () => focusOn(items[at + 1]),
    ArrowUp: () => focusOn(items[at - 1]),
    Home: () => focusOn(items[0]),
    End: () => focusOn(items.at(-1)),
    ArrowRight: () => (isOpen ? focusOn(items[at + 1]) : toggle(element, true)),
    ArrowLeft: () => (isOpen ? toggle(element, false) : focusOn(parent)),
    Enter: () => use(element),
    ' ': () => use(element),
  };
  const does = keys[event.key];
  if (!does) return;
  event.preventDefault();
  does();
}

/** @param {HTMLElement | null | undefined} element */
function focusOn(element) {
  if (!element) return;
  for (const other of element.closest('[role="tree"]')?.querySelectorAll('li[tabindex="0"]') ?? [])
    other.setAttribute('tabindex', '-1');
  element.tabIndex = 0;
  element.focus();
}

/** @param {unknown} value */
function sizeOf(value) {
  if (Array.isArray(value)) return value.length;
  if (value instanceof WrittenNumber) return null;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : null;
}

/**
 * @param {unknown} value
 * @param {number} size
 */
function summary(value, size) {
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return size === 0
    ? h('span', { class: 'json-sign' }, `${open}${close}`)
    : h(
        'span',
        { class: 'json-sign' },
        `${open} ${t(Array.isArray(value) ? 'json.values' : 'json.fields', { n: size, count: formatCount(size) })} ${close}`,
      );
}

/** @param {unknown} value */
function leaf(value) {
  if (value instanceof WrittenNumber)
    return h('bdi', { class: 'json-value json-number' }, cut(String(value)));
  const text = typeof value === 'string' ? `"${visibleText(cut(value))}"` : String(value);
  // Such a number was rounded when it was read: the raw text has it as it is.
  const isRounded = typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return h(
    'bdi',
    {
      class: `json-value json-${value === null ? 'null' : typeof value}`,
      title: isRounded ? t('json.rounded') : null,
    },
    isRounded ? `≈ ${text}` : text,
  );
}

/** @param {string} text */
function cut(text) {
  return text.length <= longestText
    ? text
    : `${text.slice(0, longestText)}… ${t('json.cut', { count: formatCount(text.length) })}`;
}
