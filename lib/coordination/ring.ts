import type { Route } from '../storage/attempt.js';
import { defaultPriority, type NewTask } from '../storage/inserts.js';
import { routeOf } from '../storage/route.js';

/** What a ring for tasks says: that there may be something to do. */
export interface Ring {
  /** True when some of the new tasks are for later: timers may have to be set earlier. */
  readonly later: boolean;
  /** True when workers are told to stop after their current work. */
  readonly halt: boolean;
  /** True when topics or subscriptions were paused or resumed, running tasks cancelled, or schedules changed. */
  readonly changed: boolean;
  /**
   * When the first of these tasks is due, in ms since 1970 by the database's clock; `'lately'` when they were inserted a
   * moment ago, and no clock says when; undefined when nothing is known.
   */
  readonly dueMs: number | 'lately' | undefined;
  /** Their highest priority, likewise. */
  readonly highest: number | undefined;
  /** Their route when all have the same, and none of them is dead; undefined when that is not known. */
  readonly route: Route | undefined;
}

/** Text of a ring that stops the workers after their current work; nsj-queue-lib knows it as well. */
export const haltText = 'HALT';

/** Text of a ring that tells of a pause or its end, or of running tasks that were cancelled. */
export const changedText = 'PAUSED';

/** What a process rings for. Without `dueMs` and `sentAt` it may have been due at any time. */
export type RingRequest = Partial<Omit<Ring, 'dueMs'>> & {
  /** When the first task is due, in ms since 1970 by the database's clock. */
  readonly dueMs?: number | undefined;
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

/**
 * Reads what a channel said: `<second> <priority>`, perhaps with the route as JSON, perhaps with ` later`. Texts of other
 * makers mean: look.
 */
export function readRing(text = ''): Ring {
  const [, second, priority, json] = /^(\d+(?:\.\d+)?) (-?\d+)(?: (".*"))?/s.exec(text) ?? [];
  let route: Route | undefined;
  try {
    if (json !== undefined) route = JSON.parse(json) as Route;
  } catch {
    // Of another maker: it is not known.
  }
  return {
    later: text.endsWith(' later'),
    halt: text === haltText,
    changed: text === changedText,
    dueMs: second === undefined ? undefined : Number(second) * 1_000,
    highest: priority === undefined ? undefined : Number(priority),
    route,
  };
}

/** True for what must not become one with other rings. */
export function isOrder({ halt, changed }: RingRequest): boolean {
  return halt === true || changed === true;
}

/** Two rings as one. */
export function together(one: RingRequest, other: RingRequest): RingRequest {
  const isKnown = hasDue(one) && hasDue(other);
  const dueMs = isKnown ? least(one.dueMs, other.dueMs) : undefined;
  const sentAt = isKnown ? least(one.sentAt, other.sentAt) : undefined;
  const route = one.route === other.route ? one.route : undefined;
  return {
    later: one.later === true || other.later === true,
    halt: one.halt === true || other.halt === true,
    highest: Math.max(one.highest ?? highestOfAll, other.highest ?? highestOfAll),
    ...(dueMs === undefined ? {} : { dueMs }),
    ...(sentAt === undefined ? {} : { sentAt }),
    ...(route === undefined ? {} : { route }),
  };
}

function hasDue({ dueMs, sentAt }: RingRequest): boolean {
  return dueMs !== undefined || sentAt !== undefined;
}

function least(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

/**
 * What a ring says after the time. A route that is not ASCII is not named: a channel takes texts in the database's encoding
 * alone.
 */
export function ringText(
  what: string,
  { later, route }: { readonly later?: boolean | undefined; readonly route?: Route | undefined },
): string {
  // What is not ASCII takes several bytes a character.
  const isNamed = route !== undefined && Buffer.byteLength(route) === route.length;
  const named = isNamed ? ` ${JSON.stringify(route)}` : '';
  return what + named + (later === true ? ' later' : '');
}

/** A ring as it is sent. */
export function messageOf(ring: RingRequest): RingMessage {
  const { dueMs, sentAt, highest = highestOfAll } = ring;
  if (ring.halt) return { text: haltText, dueMs: undefined, agoMs: undefined };
  if (ring.changed) return { text: changedText, dueMs: undefined, agoMs: undefined };
  return {
    text: hasDue(ring) ? ringText(String(highest), ring) : ringText('*', { later: ring.later }),
    dueMs,
    agoMs: sentAt === undefined ? undefined : Math.ceil(performance.now() - sentAt) + clockStepMs,
  };
}

/** What two clocks may differ by over the time of one statement. */
const clockStepMs = 5;

/** A ring as it is heard: in the process that rings, and where a bell carries less than was rung for. */
export function heardRing(ring: Partial<Ring>): Ring {
  const { later = false, halt = false, changed = false, dueMs, highest, route } = ring;
  return { later, halt, changed, dueMs, highest, route };
}

/** The ring for tasks that were just inserted. */
export function ringFor(tasks: readonly NewTask[], sentAt: number): RingRequest {
  let [dueMs, highest, later] = [Infinity, -Infinity, false];
  const [first] = tasks;
  const isOneRoute = tasks.every(
    ({ topic, publication }) => publication === first?.publication && (publication || topic === first.topic),
  );
  let route: Route | undefined;
  if (first && isOneRoute) {
    const { topic, publication } = first;
    route = routeOf({ publication, dead: false, subscriptionId: null, topic, losses: 0 });
  }
  for (const { dueAt, delayMs, priority } of tasks) {
    if (dueAt !== null) dueMs = Math.min(dueMs, Date.parse(dueAt) || 0);
    highest = Math.max(highest, priority ?? defaultPriority);
    later ||= dueAt !== null || Boolean(delayMs);
  }
  return {
    later,
    highest,
    sentAt,
    ...(dueMs === Infinity ? {} : { dueMs }),
    ...(route === undefined ? {} : { route }),
  };
}

/** What a ring for one task says after the time. */
export function ringTextFor(task: NewTask): string {
  const ring = ringFor([task], 0);
  return ringText(String(ring.highest ?? defaultPriority), ring);
}
