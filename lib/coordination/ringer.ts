import type { Ring } from './coordinator.js';

/** Text of a ring that stops the workers after their current work; nsj-queue-lib knows it as well. */
export const haltText = 'HALT';

/** Text of a ring that says that something was paused or resumed. */
export const pausedText = 'PAUSED';

/** What somebody rings for. Without `dueMs` and `sentAt` nobody knows since when it may have been due. */
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

/** Parameters: channel, text, `dueMs`, `agoMs`. */
export const notifyStatement = `select pg_notify($1::text, coalesce(round((least($3::float8,
  extract(epoch from clock_timestamp())::float8 * 1000 - $4::float8) / 1000)::numeric, 3) || ' ', '') || $2::text)`;

/** Sends one ring; resolves when it is on its way. */
export type SendRing = (message: RingMessage) => Promise<void>;

const highestOfAll = 2_147_483_647;

/**
 * Rings for what this process committed. While one ring is on its way the next ones become one, so that a
 * producer at full speed rings once per round trip and not once per task. No timer: the first goes at once.
 */
export class Ringer {
  readonly #send: SendRing;
  #sending = false;
  #sent = Promise.resolve();
  #next: RingRequest | undefined;

  /** @param send may fail: a lost ring delays a task until the next poll, it does not lose it */
  constructor(send: SendRing) {
    this.#send = send;
  }

  /** True while no ring is on its way. */
  get idle(): boolean {
    return !this.#sending;
  }

  ring(ring: RingRequest = {}): void {
    this.#next = this.#next ? together(this.#next, ring) : ring;
    if (!this.#sending) this.#sent = this.#drain();
  }

  /** Resolves when every ring so far is on its way: before the connections are closed. */
  settled(): Promise<void> {
    return this.#sent;
  }

  async #drain(): Promise<void> {
    this.#sending = true;
    while (this.#next) {
      const ring = this.#next;
      this.#next = undefined;
      await this.#send(messageOf(ring)).catch(() => undefined);
    }
    this.#sending = false;
  }
}

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

function together(one: RingRequest, other: RingRequest): RingRequest {
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

function messageOf(ring: RingRequest): RingMessage {
  const { dueMs, sentAt, later, highest = highestOfAll } = ring;
  if (ring.halt) return { text: haltText, dueMs: undefined, agoMs: undefined };
  return {
    text: ringText(hasDue(ring) ? String(highest) : '*', later),
    dueMs,
    agoMs: sentAt === undefined ? undefined : Math.ceil(performance.now() - sentAt) + clockStepMs,
  };
}

/** What two clocks may differ by over the time of one statement. */
const clockStepMs = 5;
