import { currentLocale } from './language.js';

/** @type {Map<string, Intl.NumberFormat>} */
const numberFormats = new Map();

/**
 * @param {number} value
 * @param {Intl.NumberFormatOptions} [options]
 */
export function formatNumber(value, options = {}) {
  const key = `${currentLocale()} ${JSON.stringify(options)}`;
  const format = numberFormats.get(key) ?? new Intl.NumberFormat(currentLocale(), options);
  numberFormats.set(key, format);
  return format.format(value);
}

/**
 * A count; with a plus behind where it is at least so many.
 *
 * @param {number} count
 * @param {boolean} [isCapped]
 */
export function formatCount(count, isCapped = false) {
  return formatNumber(count) + (isCapped ? '+' : '');
}

/** @param {number} bytes */
export function formatBytes(bytes) {
  const units = /** @type {const} */ (['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte']);
  const step = Math.min(bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3), units.length - 1);
  const unit = units[step] ?? 'byte';
  return formatNumber(bytes / 1000 ** step, {
    style: 'unit',
    unit,
    // The short form of bytes has no plural in English.
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits: step === 0 ? 0 : 1,
  });
}

/** The two largest units of a duration, each with how many of the next smaller one it has. */
const durationUnits = /** @type {const} */ ([
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
]);

/** Some 250 years, in ms: one of the two times is infinite, which the server and a `Date` put at some time as well. */
const endlessMs = 8e12;

/**
 * A duration in at most two units: `340ms`, `4.2s`, `3m 10s`, `2d 4h`.
 *
 * @param {number} ms
 * @returns {string}
 */
export function formatDuration(ms) {
  if (ms < 0) return `−${formatDuration(-ms)}`;
  if (ms > endlessMs) return '∞';
  if (ms < 999.5) return unitText(ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms), 'millisecond');
  if (ms < 9950) return unitText(Math.round(ms / 100) / 10, 'second');
  const index = durationUnits.findIndex(([, size]) => Math.round(ms / 1000) * 1000 >= size);
  const [unit, size] = durationUnits[index] ?? durationUnits[3];
  const smaller = durationUnits[index + 1];
  if (!smaller) return unitText(Math.round(ms / 1000), 'second');
  const rounded = Math.round(ms / smaller[1]) * smaller[1];
  const rest = Math.round((rounded % size) / smaller[1]);
  return unitText(Math.floor(rounded / size), unit) + (rest > 0 ? ` ${unitText(rest, smaller[0])}` : '');
}

/**
 * @param {number} value
 * @param {string} unit
 */
function unitText(value, unit) {
  return formatNumber(value, { style: 'unit', unit, unitDisplay: 'narrow', maximumFractionDigits: 1 });
}

/**
 * @param {string} iso
 * @param {Intl.DateTimeFormatOptions} options
 */
export function formatDate(iso, options) {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : new Intl.DateTimeFormat(currentLocale(), options).format(date);
}

/** @param {string} iso */
export function formatClock(iso) {
  return formatDate(iso, { hour: '2-digit', minute: '2-digit' });
}
