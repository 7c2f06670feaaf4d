import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { cleanMessage } from '../../lib/values/stored-text.js';
import { failureDetail, failureMessage } from '../../lib/values/failure-text.js';
import { readReturn } from '../../lib/worker/running/handler-context.js';

/** Texts of every kind, also of halves of characters, around the length of the column. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 1_100 }),
  fc.string({ unit: 'grapheme', maxLength: 600 }),
  fc
    .array(fc.constantFrom('a', '😀', '\0', '\ud83d', '\ude00', 'é'), { maxLength: 1_200 })
    .map((all) => all.join('')),
);

test('a message fits the column: no NUL, at most 500 characters, none of them halved', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const message = cleanMessage(text);
      const whole = text.replaceAll('\0', '');
      expect(message).not.toContain('\0');
      expect(Array.from(message).length).toBeLessThanOrEqual(500);
      expect(message).toBe(Array.from(whole).slice(0, 500).join(''));
    }),
  );
});

test('whatever is thrown has a message and a detail', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.anything({ withBigInt: true, withNullPrototype: true, withObjectString: true }), anyText),
      (thrown) => {
        for (const error of [
          thrown,
          new Error('x', { cause: thrown }),
          Object.assign(new Error('x'), { message: thrown }),
        ]) {
          expect(Array.from(failureMessage(error)).length).toBeLessThanOrEqual(500);
          expect(failureDetail(error).length).toBeLessThanOrEqual(8_000);
          expect(failureMessage(error) + failureDetail(error)).not.toContain('\0');
        }
      },
    ),
  );
});

/** How a return value is to be recorded. */
function recorded(value: unknown) {
  if (value === undefined || value === null) return { message: 'completed', result: null };
  if (typeof value === 'string') return { message: cleanMessage(value), result: null };
  return { message: 'completed', result: JSON.stringify(value) };
}

test('nothing and texts are recorded as the message, what else JSON can hold as the result', () => {
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), anyText, fc.constant(undefined)), (value) => {
      expect(readReturn(value, 1_000_000)).toEqual(recorded(value));
    }),
  );
});
