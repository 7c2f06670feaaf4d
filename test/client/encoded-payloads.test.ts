import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodePayload, hashPayload } from '../../lib/client/task-input.js';
import { decodePayload } from '../../lib/worker/running/handler-context.js';

const task = { id: '1', subscriptionId: null, topic: 't', tenant: null };
const delivery = { ...task, subscriptionId: 's' };
type TaskArgument = Parameters<typeof decodePayload>[1];

/** What a handler gets of what was inserted, as a task of its own and as a delivery. */
function arrive(inserted: unknown, as: 'json' | 'text') {
  const stored = encodePayload(inserted, 2 ** 29);
  // PostgreSQL writes the envelope, but what it writes is JSON.
  const envelope = JSON.stringify({ publication: stored, subscription: { id: 's', processo: 't' } });
  return {
    stored,
    direct: decodePayload(stored, task as TaskArgument, as).payload,
    delivered: decodePayload(envelope, delivery as TaskArgument, as).payload,
  };
}

const text = fc
  .string({ unit: 'binary' })
  .filter((one) => !one.includes('\0') && Buffer.from(one).toString() === one);
const jsonText = fc.oneof(
  text,
  fc.json(),
  text.map((one) => `{${one}`),
  text.map((one) => `[${one}`),
);
const object = fc.oneof(
  fc.object({
    values: [
      fc.boolean(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      text,
      fc.constant(null),
    ],
  }),
  fc.array(fc.jsonValue()),
);

test('an object arrives as that object', () => {
  fc.assert(
    fc.property(object, (inserted) => {
      const { direct, delivered } = arrive(inserted, 'json');
      expect(direct).toEqual(JSON.parse(JSON.stringify(inserted)));
      expect(delivered).toEqual(direct);
    }),
  );
});

test('a text arrives as that text, unless it is an object or array in JSON', () => {
  fc.assert(
    fc.property(jsonText, (inserted) => {
      const { stored, direct, delivered } = arrive(inserted, 'json');
      expect(stored).toBe(inserted);
      expect(typeof direct === 'object' ? JSON.stringify(direct) : direct).toBe(
        typeof direct === 'object' ? JSON.stringify(JSON.parse(inserted)) : inserted,
      );
      expect(typeof direct === 'object').toBe(isJsonObject(inserted));
      expect(delivered).toEqual(direct);
    }),
  );
});

test("with payload: 'text' everything arrives as it is stored", () => {
  fc.assert(
    fc.property(fc.oneof(object, jsonText), (inserted) => {
      const { stored, direct, delivered } = arrive(inserted, 'text');
      expect([direct, delivered]).toEqual([stored, stored]);
    }),
  );
});

test('equal texts have equal hashes, different ones have not', () => {
  fc.assert(
    fc.property(text, text, (one, other) => {
      expect(hashPayload(one) === hashPayload(other)).toBe(one === other);
      expect(/^[0-9a-f]{64}$/.test(hashPayload(one) ?? '')).toBe(one !== '');
    }),
  );
});

function isJsonObject(inserted: string): boolean {
  if (!/^[{[]/.test(inserted)) return false;
  try {
    JSON.parse(inserted);
    return true;
  } catch {
    return false;
  }
}
