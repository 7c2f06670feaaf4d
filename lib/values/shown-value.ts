import { isDate, isProxy } from 'node:util/types';

const longestText = 100;

/**
 * A value that was given by mistake, as a message names it. Nothing of the value's own runs (`toString`, getters, traps of a
 * proxy), and what an object holds is left out: it may be secret. Never throws.
 */
export function shownValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(shortened(value));
    case 'bigint':
    case 'symbol':
      return shortened(String(value));
    case 'function':
      return 'a function';
    case 'object':
      return value === null ? 'null' : shownObject(value);
    default:
      return String(value);
  }
}

function shownObject(value: object): string {
  if (isProxy(value)) return 'a proxy';
  if (Array.isArray(value)) return 'a list';
  if (!isDate(value)) return 'an object';
  const time: number = Date.prototype.getTime.call(value);
  return Number.isNaN(time) ? 'Invalid Date' : new Date(time).toISOString();
}

function shortened(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text;
}
