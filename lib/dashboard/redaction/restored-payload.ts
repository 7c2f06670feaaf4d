import { membersWithLargeNumbers } from '../../values/json-numbers.js';
import { TarefaError } from '../../errors.js';
import type { Redaction } from '../redaction.js';
import { redacted } from './url-credentials.js';

/** An object or list of three JSON texts, at the same place in each. */
interface Place {
  readonly edited: object;
  readonly shown: unknown;
  readonly stored: unknown;
}

/**
 * The payload that is meant when a redacted one was shown and edited: what was redacted, and still says so in the same
 * place, is what is stored there.
 *
 * @throws {TarefaError} `INPUT_INVALID` when it cannot be told what is meant
 */
export function restoreRedacted(edited: string, stored: string | null, redaction: Redaction): string {
  if (!edited.includes(redacted)) return edited;
  if (stored !== null && redaction.text(stored).text === edited) return stored;
  const [wanted, kept] = [parsed(edited), stored === null ? undefined : parsed(stored)];
  if (!isObject(wanted) || !isObject(kept)) {
    throw unclear(
      `it says ${redacted}, and only of objects and lists of JSON can be told what that stands for`,
    );
  }
  if (hasLargeNumbers(edited) || hasLargeNumbers(stored ?? '')) {
    throw unclear(`it says ${redacted}, and holds numbers of more digits than JavaScript keeps`);
  }
  const work: Place[] = [{ edited: wanted, shown: redaction.redact(kept).value, stored: kept }];
  for (let place = work.pop(); place; place = work.pop()) {
    for (const [key, value] of Object.entries(place.edited)) {
      const [shown, own] = [memberOf(place.shown, key), memberOf(place.stored, key)];
      if (isObject(value)) work.push({ edited: value, shown, stored: own });
      else if (typeof value === 'string' && value.includes(redacted)) {
        if (shown !== value || own === undefined) {
          throw unclear(`${JSON.stringify(key.slice(0, 100))} says ${redacted}, and no such value was there`);
        }
        // `__proto__` may be a name like any other.
        Object.defineProperty(place.edited, key, { value: own });
      }
    }
  }
  return JSON.stringify(wanted);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function memberOf(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

/** Looked for in one member, whatever the text is: lists hold numbers as well. */
function hasLargeNumbers(json: string): boolean {
  return membersWithLargeNumbers(`{"all":${json}}`) !== undefined;
}

function unclear(problem: string): TarefaError {
  return new TarefaError(
    'INPUT_INVALID',
    `the payload cannot be edited so: ${problem}. Write the values themselves; nothing was done`,
  );
}
