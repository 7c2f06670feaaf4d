/** What a ring for tasks says: that there may be something to do. */
export interface Ring {
  /** True when some of the new tasks are for later: timers may have to be set earlier. */
  readonly later: boolean;
  /** True when workers are told to stop after their current work. */
  readonly halt: boolean;
  /** True when topics or subscriptions were paused or resumed. */
  readonly paused: boolean;
  /** When the first of these tasks is due, in ms since 1970 by the database's clock; undefined when that is not known. */
  readonly dueMs: number | undefined;
  /** Their highest priority, likewise. */
  readonly highest: number | undefined;
}

/** Text of a ring that stops the workers after their current work; nsj-queue-lib knows it as well. */
export const haltText = 'HALT';

/** Text of a ring that tells of a pause or its end. */
export const pausedText = 'PAUSED';

/** What a process rings for. Without `dueMs` and `sentAt` it may have been due at any time. */
export type RingRequest = Partial<Ring> & {
  /** When the statement was sent that inserted what was due at once, by `performance.now()`. */
  readonly sentAt?: number;
};

/** A ring on its way; the database puts in front when the first task was due, by its clock. */
export interface RingMessage {
  readonly text: string;
  /** Ms since 1970, or undefined. */
  readonly dueMs: number | undefined;
  /** Ms before now, or undefined. */
  readonly agoMs: number | undefined;
}

const highestOfAll = 2_147_483_647;

/** Reads what a channel said: `<second> <priority>`, perhaps with ` later`. Texts of other makers mean: look. */
export function readRing(text = ''): Ring {
  const [, second, priority] = /^(\d+(?:\.\d+)?) (-?\d+)/.exec(text) ?? [];
  return {
    later: text.endsWith(' later'),
    halt: text === haltText,
    paused: text === pausedText,
    dueMs: second === undefined ? undefined : Number(second) * 1_000,
    highest: priority === undefined ? undefined : Number(priority),
  };
}

/** Two rings as one. */
export function together(one: RingRequest, other: RingRequest): RingRequest {
  const isKnown = hasDue(one) && hasDue(other);
  const dueMs = isKnown ? least(one.dueMs, other.dueMs) : undefined;
  const sentAt = isKnown ? least(one.sentAt, other.sentAt) : undefined;
  return {
    later: one.later === true || other.later === true,
    halt: one.halt === true || other.halt === true,
    highest: Math.max(one.highest ?? highestOfAll, other.highest ?? highestOfAll),
    ...(dueMs === undefined ? {} : { dueMs }),
    ...(sentAt === undefined ? {} : { sentAt }),
  };
}

function hasDue({ dueMs, sentAt }: RingRequest): boolean {
  return dueMs !== undefined || sentAt !== undefined;
}

function least(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

/** What a ring says after the time. */
export function ringText(what: string, later: boolean | undefined): string {
  return later === true ? `${what} later` : what;
}

/** A ring as it is sent. */
export function messageOf(ring: RingRequest): RingMessage {
  const { dueMs, sentAt, later, highest = highestOfAll } = ring;
  if (ring.halt) return { text: haltText, dueMs: undefined, agoMs: undefined };
  if (ring.paused) return { text: pausedText, dueMs: undefined, agoMs: undefined };
  return {
    text: ringText(hasDue(ring) ? String(highest) : '*', later),
    dueMs,
    agoMs: sentAt === undefined ? undefined : Math.ceil(performance.now() - sentAt) + clockStepMs,
  };
}

/** What two clocks may differ by over the time of one statement. */
const clockStepMs = 5;

/** A ring as it is heard in the process that rings. */
export function heardRing(ring: RingRequest): Ring {
  const { later = false, halt = false, paused = false, dueMs, highest } = ring;
  return { later, halt, paused, dueMs, highest };
}
