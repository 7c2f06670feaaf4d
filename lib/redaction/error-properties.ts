import { isDate, isNativeError } from 'node:util/types';
import type { PropertiesOf } from '../values/failure-text.js';
import { safely } from '../values/safely.js';
import type { Redaction } from './redaction.js';

/** True for all of them, or their names. */
export type ErrorProperties = boolean | readonly string[];

/** Told of an error anyway, or never of use. */
const told: ReadonlySet<string> = new Set(['name', 'message', 'stack', 'code', 'cause', 'errors']);
/** Of one error: an answer of HTTP may hold sockets, agents and all that hangs on them. */
const mostValues = 300;
const deepest = 6;
/** Longer texts are left out: half a secret is not recognised. */
const longestText = 10_000;

/** Reads of errors what is to be told besides their messages and stacks, and hides what is secret. */
export function errorProperties(wanted: ErrorProperties, redaction: Redaction): PropertiesOf {
  if (wanted === false) return () => ({});
  const names = wanted === true ? undefined : new Set(wanted);
  return (error) => {
    const copy = new PlainCopy().of(error, (name) => names?.has(name) ?? !told.has(name));
    return redaction.redact(copy).value as Readonly<Record<string, unknown>>;
  };
}

/** Copies values as JSON can hold them, so many and so deep, without running code of theirs. */
class PlainCopy {
  #left = mostValues;

  of(object: object, isWanted: (name: string) => boolean = () => true, level = 0): Record<string, unknown> {
    const copy = Object.create(null) as Record<string, unknown>;
    for (const name of Object.keys(object)) {
      if (!isWanted(name) || this.#left <= 0) continue;
      const value = this.#value(dataOf(object, name), level + 1);
      if (value !== undefined) copy[name] = value;
    }
    return copy;
  }

  #value(value: unknown, level: number): unknown {
    this.#left -= 1;
    switch (typeof value) {
      case 'string':
        return value.length <= longestText ? value : `<${value.length} characters>`;
      case 'number':
      case 'boolean':
        return value;
      case 'bigint':
        return String(value);
      case 'object':
        return value === null ? null : this.#object(value, level);
      default:
        return undefined;
    }
  }

  #object(value: object, level: number): unknown {
    if (isDate(value)) return safely(() => value.toISOString(), 'Invalid Date');
    if (value instanceof URL) return value.href;
    if (ArrayBuffer.isView(value)) return `<${value.byteLength} bytes>`;
    if (level >= deepest) return '…';
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const one of value as unknown[])
        if (this.#left > 0) items.push(this.#value(one, level + 1) ?? null);
      return items;
    }
    const copy = this.of(value, undefined, level);
    // They are not among an error's own keys.
    return isNativeError(value) ? { name: value.name, message: value.message, ...copy } : copy;
  }
}

/** A property that is no getter: those may do anything. */
function dataOf(object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value as unknown;
}
