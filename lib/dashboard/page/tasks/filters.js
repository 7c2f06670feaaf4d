// Filters live in the hash, by the names that the server knows; `latest` is on unless it says otherwise.

/** In the order of the form. */
export const textFilters = /** @type {const} */ ([
  'topic',
  'subscription',
  'message',
  'key',
  'tenant',
  'group',
  'publication',
  'payload',
]);

const timeFilters = /** @type {const} */ (['since', 'until']);

const all = ['status', ...textFilters, ...timeFilters, 'dead', 'buried', 'latest'];

/**
 * Only the filters that are known; an empty `topic` means tasks without one.
 *
 * @param {URLSearchParams} params
 */
export function filtersOf(params) {
  const filters = new URLSearchParams();
  for (const name of all) {
    const value = params.get(name);
    if (value !== null && (value !== '' || name === 'topic')) filters.set(name, value);
  }
  if (filters.get('latest') !== 'false') filters.delete('latest');
  if (!['true', 'treated', 'untreated'].includes(filters.get('buried') ?? '')) filters.delete('buried');
  return filters;
}

/**
 * What the server is asked for.
 *
 * @param {URLSearchParams} filters
 */
export function queryOf(filters) {
  const query = new URLSearchParams(filters);
  query.set('latest', filters.get('latest') === 'false' ? 'false' : 'true');
  return query;
}

/**
 * Which tasks are meant where something is done with all that match: how they are listed does not matter there.
 *
 * @param {URLSearchParams} filters
 * @returns {Record<string, string>}
 */
export function bulkFilterOf(filters) {
  const { latest: _, ...filter } = Object.fromEntries(filters);
  return filter;
}

/**
 * A moment as a field for local time has it; empty for what is no moment.
 *
 * @param {string | null} iso
 */
export function localTimeOf(iso) {
  const date = new Date(iso ?? '');
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** @param {string} local */
export function isoOf(local) {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}
