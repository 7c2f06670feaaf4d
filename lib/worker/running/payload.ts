import { parseExactly } from '../../values/json-numbers.js';
import { decodeText, writeJson } from '../../values/json-text.js';
import type { Subscription, Task } from '../../task.js';
import { cleanMessage } from '../../values/failure-text.js';

/** A payload as the handler gets it, with the subscription when the task is a delivery. */
export interface DecodedPayload {
  readonly payload: unknown;
  readonly subscription: Subscription | undefined;
}

/** How a handler gets its payload; `stored` for one that reads envelopes itself. */
export type PayloadForm = 'json' | 'text' | 'stored';

/**
 * Decodes what is stored. A delivery's payload is an envelope: the publication's text and the subscription's
 * row at that moment. An inserted object arrives as that object, a string as that string.
 *
 * @throws {Error} when a delivery does not hold an envelope: some other program made the row
 */
export function decodePayload(stored: string | null, task: Task, as: PayloadForm): DecodedPayload {
  if (as === 'stored') return { payload: stored, subscription: undefined };
  if (task.subscriptionId === null) return { payload: decodeText(stored, as), subscription: undefined };
  const { publication, subscription } = readDelivery(stored, task);
  return { payload: decodeText(publication, as), subscription };
}

/**
 * Reads the envelope of a delivery. The row says which subscription it is for, not the envelope.
 *
 * @throws {Error} when there is none
 */
export function readDelivery(
  stored: string | null,
  task: Task,
): { readonly publication: string | null; readonly subscription: Subscription } {
  const { publication, subscription } = readEnvelope(stored, task);
  return { publication, subscription: readSubscription(subscription, task) };
}

interface Envelope {
  readonly publication: string | null;
  readonly subscription: Readonly<Record<string, unknown>>;
}

function readEnvelope(stored: string | null, task: Task): Envelope {
  try {
    const envelope = JSON.parse(stored ?? '') as Partial<Envelope> | null;
    const { publication = null, subscription } = envelope ?? {};
    const isText = publication === null || typeof publication === 'string';
    if (isText && typeof subscription === 'object' && subscription !== null)
      return { publication, subscription: withAllDigits(subscription, stored ?? '') };
  } catch {
    // The message below says what to do.
  }
  throw new Error(
    `the payload of delivery ${task.id} is not an envelope {"publication", "subscription"}: ` +
      `rows with a subscriber_id are made by publications, insert a publication instead`,
  );
}

/** Headers may be numbers, such as that of an account, which JavaScript would round. */
function withAllDigits(subscription: Envelope['subscription'], stored: string): Envelope['subscription'] {
  const { headers } = subscription;
  if (typeof headers !== 'object' || headers === null) return subscription;
  const isNumber = (one: unknown): boolean => typeof one === 'number';
  return Object.values(headers).some(isNumber)
    ? (parseExactly(stored) as Envelope).subscription
    : subscription;
}

function readSubscription(row: Readonly<Record<string, unknown>>, task: Task): Subscription {
  const text = (name: string): string | null => (typeof row[name] === 'string' ? row[name] : null);
  return {
    id: task.subscriptionId ?? '',
    topic: text('processo') ?? task.topic ?? '',
    // Either unset or the publication's own, which JSON numbers cannot hold beyond 2^53.
    tenant: row['tenant'] == null ? null : task.tenant,
    group: text('grupo_empresarial'),
    url: text('url'),
    httpMethod: text('http_method'),
    headers: (row['headers'] as Subscription['headers'] | undefined) ?? null,
  };
}

/** What a handler returned, as it is recorded. */
export interface RecordedReturn {
  readonly message: string;
  readonly result: string | null;
  /** Why the result is not recorded; undefined where it is, or there is none. */
  readonly problem?: string | undefined;
}

/** What is recorded when a handler returns nothing. */
const defaultMessage = 'completed';

/** The completion recorded for an attempt of which only its success is known. */
export const nothingReturned: RecordedReturn = { message: defaultMessage, result: null };

/**
 * Reads a handler's return value: nothing, a message, or a result. The work is done, so what cannot be recorded must not
 * undo or repeat it: the message then says why. Never throws.
 */
export function readReturn(value: unknown, maxBytes: number): RecordedReturn {
  if (value === undefined || value === null) return nothingReturned;
  if (typeof value === 'string') return { message: cleanMessage(value), result: null };
  const written = writeJson(value);
  if ('problem' in written) return notRecorded(written.problem);
  const bytes = Buffer.byteLength(written.text);
  if (bytes > maxBytes) return notRecorded(`has ${bytes} bytes, more than maxPayloadBytes (${maxBytes})`);
  return { message: defaultMessage, result: written.text };
}

/** Of a result that was not recorded, and why: `has 2000000 bytes`. */
export function notRecorded(why: string): RecordedReturn {
  const problem = cleanMessage(`result not recorded: it ${why}`.replace(/\s+/g, ' '));
  return { message: problem, result: null, problem };
}
