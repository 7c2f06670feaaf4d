// Elements made by script: text goes in as text nodes only, so nothing of the server is ever read as markup.

/** @typedef {{ call(event: Event): void }['call']} Handler */
/** @typedef {string | number | boolean | null | undefined | Handler} Attribute */
/** @typedef {{ readonly length: number, readonly [index: number]: Child }} Children a list of them */
/** @typedef {Node | string | number | null | undefined | false | Children} Child what may stand in an element */

/** What each element does on which event: looked up when it happens, so that {@link fill} can pass it on. */
/** @type {WeakMap<EventTarget, Map<string, Handler>>} */
const handlers = new WeakMap();

/**
 * An HTML element. `onclick` and the like are handlers; null, undefined and false leave an attribute out.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Readonly<Record<string, Attribute>> | null} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function h(name, attributes, ...children) {
  const element = document.createElement(name);
  dress(element, attributes ?? {});
  element.append(...nodesOf(children));
  return element;
}

/**
 * An SVG element.
 *
 * @template {keyof SVGElementTagNameMap} Name
 * @param {Name} name
 * @param {Readonly<Record<string, Attribute>> | null} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[Name]}
 */
export function svg(name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  dress(element, attributes ?? {});
  element.append(...nodesOf(children));
  return element;
}

/**
 * All of them as nodes, with what is left out left out.
 *
 * @param {readonly Child[]} children
 * @returns {Node[]}
 */
export function nodesOf(children) {
  return children.flatMap((child) => {
    if (child === null || child === undefined || child === false) return [];
    if (child instanceof Node) return [child];
    if (typeof child === 'string' || typeof child === 'number')
      return [document.createTextNode(String(child))];
    return nodesOf(Array.from(child));
  });
}

/**
 * The handlers of one element are taken over by another, which stays in the page in its place.
 *
 * @param {Element} from
 * @param {Element} to
 */
export function handHandlersOn(from, to) {
  const given = handlers.get(from);
  if (given) for (const [type, handler] of given) listen(to, type, handler);
  for (const type of handlers.get(to)?.keys() ?? []) if (!given?.has(type)) handlers.get(to)?.delete(type);
}

/**
 * @param {Element} element
 * @param {Readonly<Record<string, Attribute>>} attributes
 */
function dress(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') listen(element, name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : String(value));
  }
}

/**
 * @param {Element} element
 * @param {string} type
 * @param {Handler} handler
 */
function listen(element, type, handler) {
  const known = handlers.get(element) ?? new Map();
  handlers.set(element, known);
  // `dispatch` is one function: adding it a second time changes nothing.
  element.addEventListener(type, dispatch);
  known.set(type, handler);
}

/** @param {Event} event */
function dispatch(event) {
  if (event.currentTarget) handlers.get(event.currentTarget)?.get(event.type)?.(event);
}
