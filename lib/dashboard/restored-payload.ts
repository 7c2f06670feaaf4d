import { readParts, textOf, withChanges, type JsonPart, type TextChange } from '../values/json-parts.js';
import { TarefaError } from '../errors.js';
import { isJson, type Redaction } from '../redaction/redaction.js';
import { redacted } from '../redaction/url-credentials.js';

/** An object or list of three JSON texts, at the same place in each. */
interface Place {
  readonly edited: JsonPart;
  readonly shown: JsonPart | undefined;
  readonly stored: JsonPart | undefined;
}

/**
 * The payload that is meant when a redacted one was shown and edited: what was redacted, and still says so in the same
 * place, is what is stored there, and everything else is as it was written.
 *
 * @throws {TarefaError} `INPUT_INVALID` when it cannot be told what is meant
 */
export function restoreRedacted(edited: string, stored: string | null, redaction: Redaction): string {
  if (!edited.includes(redacted)) return edited;
  const shown = stored === null ? '' : redaction.text(stored).text;
  if (stored !== null && shown === edited) return stored;
  const places = [edited, shown, stored ?? ''].map(readHolder);
  const [wanted, asShown, kept] = places;
  if (!wanted || !kept) {
    throw unclear(`it contains ${redacted}, which can be restored only in JSON objects and arrays`);
  }
  const changes: TextChange[] = [];
  const work: Place[] = [{ edited: wanted, shown: asShown, stored: kept }];
  for (let place = work.pop(); place; place = work.pop()) {
    const [shownHere, storedHere] = [membersOf(place.shown), membersOf(place.stored)];
    for (const { key, value } of place.edited.members ?? []) {
      const [before, own] = [shownHere.get(key), storedHere.get(key)];
      if (value.members) work.push({ edited: value, shown: before, stored: own });
      const text = textOf(edited, value);
      if (!text?.includes(redacted)) continue;
      if (!before || !own || textOf(shown, before) !== text) {
        throw unclear(
          `${JSON.stringify(key.slice(0, 100))} contains ${redacted}, but no such value was there`,
        );
      }
      changes.push({ start: value.start, end: value.end, text: (stored ?? '').slice(own.start, own.end) });
    }
  }
  return withChanges(edited, changes);
}

/** An object or a list; undefined for all other texts. */
function readHolder(text: string): JsonPart | undefined {
  const part = isJson(text) ? readParts(text) : undefined;
  return part?.members ? part : undefined;
}

/** Of a name that is there twice the last counts, as it does for `JSON.parse`. */
function membersOf(part: JsonPart | undefined): ReadonlyMap<string, JsonPart> {
  return new Map(part?.members?.map(({ key, value }) => [key, value]));
}

function unclear(problem: string): TarefaError {
  return new TarefaError(
    'INPUT_INVALID',
    `the payload cannot be edited this way: ${problem}. Write the actual values; nothing was changed`,
  );
}
