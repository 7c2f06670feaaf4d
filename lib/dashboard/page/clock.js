import { h } from './dom.js';
import { formatDate, formatDuration } from './format.js';
import { t } from './language.js';

// Ages are told by the clock of the database, which may differ from the browser's.

let aheadMs = 0;

/**
 * Learns how far the server's clock is ahead from a time that it has just told.
 *
 * @param {string} iso
 */
export function learnServerTime(iso) {
  const at = Date.parse(iso);
  if (!Number.isNaN(at)) aheadMs = at - Date.now();
}

/** What the server's clock shows now, in ms. */
export function serverNow() {
  return Date.now() + aheadMs;
}

/** What a `Date` can hold furthest from now, in ms: how the server tells of `infinity`. */
const furthestMs = 8.64e15;

/**
 * What is shown of a time that no clock shows: the infinite ones, and none.
 *
 * @param {string | null} iso
 */
function endless(iso) {
  const ms = iso === null ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(ms)) return h('span', { class: 'muted' }, '–');
  if (Math.abs(ms) < furthestMs) return null;
  return h('span', { title: ms > 0 ? 'infinity' : '-infinity' }, ms > 0 ? '∞' : '−∞');
}

/**
 * A moment as the user's clock shows it, with the day where it is another one; UTC in its title.
 *
 * @param {string} iso
 */
export function timeOf(iso) {
  const other = endless(iso);
  if (other) return other;
  const isToday = new Date(iso).toDateString() === new Date(serverNow()).toDateString();
  const text = formatDate(iso, {
    ...(isToday ? {} : { day: '2-digit', month: 'short' }),
    ...(Math.abs(Date.parse(iso) - serverNow()) > 180 * 86_400_000 ? { year: 'numeric' } : {}),
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  return h('time', { datetime: iso, title: iso, class: 'nowrap' }, text);
}

/**
 * How long ago or ahead it is, with the moment in its title.
 *
 * @param {string} iso
 */
export function ageOf(iso) {
  const other = endless(iso);
  if (other) return other;
  const ms = serverNow() - Date.parse(iso);
  const key = ms < 0 ? 'time.in' : 'time.ago';
  const text = Math.abs(ms) < 1000 ? t('time.now') : t(key, { duration: formatDuration(Math.abs(ms)) });
  return h('time', { datetime: iso, title: iso }, text);
}
