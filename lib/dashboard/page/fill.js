import { handHandlersOn, nodesOf } from './dom.js';

// What is shown is made again from the data each time; what is already on the page is changed only where it differs,
// so that focus, selection, scroll positions and open details survive numbers that change every second.

/**
 * Makes the container hold these children. Elements with the same `data-key` are the same thing in another place;
 * those with the same `data-own` look after themselves and are left as they are.
 *
 * @param {Element} container
 * @param {...import('./dom.js').Child} children
 */
export function fill(container, ...children) {
  const focused = document.activeElement;
  const hadFocus = focused instanceof HTMLElement && container.contains(focused);
  reconcile(container, nodesOf(children));
  if (!(focused instanceof HTMLElement) || document.activeElement === focused) return;
  if (focused.isConnected) focused.focus({ preventScroll: true });
  else if (hadFocus) placeOfFocus(container)?.focus({ preventScroll: true });
}

/**
 * Where focus goes when what had it is gone, such as a button for what cannot be done any more: it must not fall to the document,
 * from where the keyboard would start over and a screen reader says nothing.
 *
 * @param {Element} container
 * @returns {HTMLElement | null}
 */
function placeOfFocus(container) {
  const dialog = container.closest('dialog');
  return dialog ? dialog.querySelector('input, select, textarea, button') : document.querySelector('h1');
}

/**
 * @param {Element} parent
 * @param {readonly Node[]} fresh
 */
function reconcile(parent, fresh) {
  const wanted = new Set(fresh.map(keyOf));
  /** @type {Map<string, Node>} */
  const keyed = new Map();
  for (const old of [...parent.childNodes]) {
    const key = keyOf(old);
    if (key === null) continue;
    if (wanted.has(key)) keyed.set(key, old);
    else old.remove();
  }
  let at = parent.firstChild;
  for (const next of fresh) {
    const key = keyOf(next);
    const kept = key === null ? at : (keyed.get(key) ?? null);
    if (kept === null || !isSameKind(kept, next)) {
      parent.insertBefore(next, at);
    } else {
      if (kept === at) at = at.nextSibling;
      else parent.insertBefore(kept, at);
      update(kept, next);
    }
  }
  while (at) {
    const rest = at;
    at = at.nextSibling;
    rest.remove();
  }
}

/**
 * @param {Node} kept
 * @param {Node} next
 */
function update(kept, next) {
  if (!(kept instanceof Element && next instanceof Element)) {
    if (kept.nodeValue !== next.nodeValue) kept.nodeValue = next.nodeValue;
    return;
  }
  if (next.getAttribute('data-own') !== null) return;
  handHandlersOn(next, kept);
  for (const { name, value } of [...next.attributes])
    if (kept.getAttribute(name) !== value) kept.setAttribute(name, value);
  for (const { name } of [...kept.attributes])
    if (!next.hasAttribute(name) && !(name === 'open' && kept instanceof HTMLDetailsElement))
      kept.removeAttribute(name);
  reconcile(kept, [...next.childNodes]);
}

/**
 * @param {Node} kept
 * @param {Node} next
 */
function isSameKind(kept, next) {
  return (
    kept.nodeName === next.nodeName &&
    keyOf(kept) === keyOf(next) &&
    (!(kept instanceof Element && next instanceof Element) ||
      kept.getAttribute('data-own') === next.getAttribute('data-own'))
  );
}

/**
 * @param {Node} node
 * @returns {string | null}
 */
function keyOf(node) {
  return node instanceof Element ? node.getAttribute('data-key') : null;
}
