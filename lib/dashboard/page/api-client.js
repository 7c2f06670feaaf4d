import { refusalText, t } from './language.js';

/** @typedef {import('../api.ts').DashboardAction} DashboardAction */
/** @typedef {import('../api.ts').BulkAction} BulkAction */

/** Everything is asked for below this: relative to this file, so that any prefix or proxy may be in front. */
export const apiBase = new URL(/* @vite-ignore */ '../../api/', import.meta.url);

/** Something was answered since the page was loaded: what is 401 after that is a login that has expired. */
let isLoggedIn = false;

/** The server refused, or did not answer. */
export class Refusal extends Error {
  /**
   * @param {string} message
   * @param {number} status of HTTP; 0 when there was no answer
   * @param {string} code
   * @param {Readonly<Record<string, string>> | null} [values] what it is about, where the library has refused
   */
  constructor(message, status, code, values = null) {
    super(values ? refusalText(code, message, values) : message);
    this.status = status;
    this.code = code;
  }

  /**
   * What the library has refused, as it tells it.
   *
   * @param {import('../api.ts').RefusalJson} told
   * @param {number} status
   */
  static of({ message, code, values }, status) {
    return new Refusal(message, status, code, values);
  }

  /** The session has ended, or was never allowed. */
  get isSession() {
    return this.status === 401 || this.status === 403;
  }
}

/**
 * @template Answer
 * @param {string} path below `api/`, each part encoded
 * @param {URLSearchParams | null} params
 * @param {AbortSignal} signal
 * @returns {Promise<Answer>}
 */
export function read(path, params, signal) {
  const url = new URL(path, apiBase);
  if (params) url.search = params.toString();
  return send(url, { signal });
}

/**
 * @template Answer
 * @param {DashboardAction | `${BulkAction}/count`} action
 * @param {object} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<Answer>}
 */
export function act(action, body, signal) {
  return send(new URL(`actions/${action}`, apiBase), {
    method: 'POST',
    // Pages of other sites cannot send this header without asking first.
    headers: { 'content-type': 'application/json', 'x-tarefa-dashboard': '1' },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
}

/**
 * @template Answer
 * @param {URL} url
 * @param {Omit<RequestInit, 'headers'> & { headers?: Record<string, string> }} init
 * @returns {Promise<Answer>}
 */
async function send(url, { headers, ...init }) {
  const response = await fetch(url, {
    ...init,
    headers: { accept: 'application/json', ...headers },
    credentials: 'same-origin',
    cache: 'no-store',
  }).catch((/** @type {unknown} */ error) => {
    if (isAbort(error)) throw error;
    throw new Refusal(t('error.unreachable'), 0, 'UNREACHABLE');
  });
  // The page itself is asked for again, so that a guard can lead to where one logs in.
  if (response.status === 401 && isLoggedIn) {
    location.reload();
    return new Promise(() => {});
  }
  const body = await response.json().catch((/** @type {unknown} */ error) => {
    if (isAbort(error)) throw error;
    return null;
  });
  if (response.ok && body !== null && !isPageOfLogin(response)) {
    isLoggedIn = true;
    return body;
  }
  if (typeof body?.code === 'string' && typeof body.values === 'object')
    throw Refusal.of(body, response.status);
  const message = isPlainRefusal(response, body) ? t('error.session') : (body?.message ?? wordsOf(response));
  throw new Refusal(String(message), response.status, typeof body?.code === 'string' ? body.code : '');
}

/**
 * A guard has refused and says nothing of its own: then Nest names the status.
 *
 * @param {Response} response
 * @param {{ message?: unknown } | null} body
 */
function isPlainRefusal({ status }, body) {
  return (
    (status === 401 || status === 403) &&
    ['Unauthorized', 'Forbidden', 'Forbidden resource'].includes(String(body?.message))
  );
}

/** @param {Response} response */
function isPageOfLogin(response) {
  return response.headers.get('content-type')?.includes('json') !== true;
}

/** @param {Response} response */
function wordsOf(response) {
  if (response.ok) return t('error.noJson');
  return t('error.status', { status: `${String(response.status)} ${response.statusText}`.trim() });
}

/**
 * The request was given up by the page itself.
 *
 * @param {unknown} error
 */
export function isAbort(error) {
  return error instanceof DOMException && error.name === 'AbortError';
}
