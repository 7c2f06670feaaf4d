// The place in the page is the hash: it works below any prefix, and back, forward and sharing work by themselves.

/** @typedef {'overview' | 'tasks' | 'task' | 'schedules' | 'subscriptions' | 'subscription' | 'missing'} ViewName */
/** @typedef {{ readonly view: ViewName, readonly id: string, readonly params: URLSearchParams }} Place */

/**
 * The place that a hash names; `missing`, with the hash as its id, for what is not known.
 *
 * @param {string} hash
 * @returns {Place}
 */
export function placeOf(hash) {
  const [path = '', query = ''] = splitOnce(hash.replace(/^#/, ''), '?');
  const [section = '', id = '', ...rest] = path.replace(/^\//, '').split('/').map(decoded);
  const params = new URLSearchParams(query);
  if (rest.length > 0) return { view: 'missing', id: hash, params };
  if (section === 'tasks') return { view: id === '' ? 'tasks' : 'task', id, params };
  if (section === 'schedules' && id === '') return { view: 'schedules', id, params };
  if (section === 'subscriptions') return { view: id === '' ? 'subscriptions' : 'subscription', id, params };
  return section === '' && id === ''
    ? { view: 'overview', id: '', params }
    : { view: 'missing', id: hash, params };
}

/**
 * The hash of a place.
 *
 * @param {Exclude<ViewName, 'missing'>} view
 * @param {{ id?: string, params?: URLSearchParams | Readonly<Record<string, string>> }} [to]
 */
export function hashOf(view, { id, params } = {}) {
  const section = {
    overview: '',
    tasks: 'tasks',
    task: 'tasks',
    schedules: 'schedules',
    subscriptions: 'subscriptions',
    subscription: 'subscriptions',
  }[view];
  const query = new URLSearchParams(params).toString();
  return `#/${section}${id === undefined ? '' : `/${encodeURIComponent(id)}`}${query === '' ? '' : `?${query}`}`;
}

/**
 * @param {string} text
 * @param {string} mark
 */
function splitOnce(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
