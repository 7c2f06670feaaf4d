import type { WorkerId } from '../storage/attempt.js';
import type { Ring, RingRequest } from './ring.js';
import type { HearingChanged } from './session.js';

/** A task whose end some process waits for. */
export interface AwaitedEnd {
  readonly firstAttemptId: string;
  readonly forMs: number;
}

/** What a ring sends, by topic. */
export interface SentMessages {
  /** There may be something to do. */
  readonly tasks: RingRequest;
  /** A worker has looked for lost ones. */
  readonly looks: WorkerId;
  /** Some process waits for a task's end. */
  readonly waits: AwaitedEnd;
  /** A task that is waited for has ended: the id of its first attempt. */
  readonly ends: string;
}

/** What listeners hear, by topic. */
export interface HeardMessages extends Omit<SentMessages, 'tasks'> {
  readonly tasks: Ring;
}

export type BellTopic = keyof SentMessages;

/** A ring that a statement of the queue's own database sends, so that it costs no statement of its own. */
export interface CarriedRing {
  readonly channel: string;
  readonly text: string;
}

/** Rings a bell beside the database's, after a commit, for what the database itself rings for as part of it. */
export type RingBeside = (ring: RingRequest) => void;

/** Wakes processes of one queue. A ring carries no data, and may be lost: listeners also look now and then. */
export interface Bell {
  /** True where this process can hear rings. */
  readonly canListen: boolean;
  /**
   * True where what a ring says arrives in other processes too. Elsewhere they hear of tasks that there may be something, and of
   * other topics nothing.
   */
  readonly tellsOthers: boolean;
  /** Rings; resolves when the ring is on its way, or is lost. Never rejects. */
  ring<Topic extends BellTopic>(topic: Topic, message: SentMessages[Topic]): Promise<void>;
  /** The ring for a statement to carry; undefined where statements cannot ring this bell, or no process could hear it. */
  carried<Topic extends BellTopic>(topic: Topic, message: SentMessages[Topic]): CarriedRing | undefined;
  /**
   * Calls back at each ring, until the returned function is called.
   *
   * @param changed told when rings cannot be heard, though the database can be reached, and when they can again
   */
  listen<Topic extends BellTopic>(
    topic: Topic,
    heard: (message: HeardMessages[Topic]) => void,
    changed?: HearingChanged,
  ): Promise<() => Promise<void>>;
}
