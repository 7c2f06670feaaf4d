import { randomUUID } from 'node:crypto';
import type { Bell, BellTopic, HeardMessages, SentMessages } from './bell.js';
import { KeptConnection, type BellCarrier } from './kept-connection.js';
import { heardRing, isOrder, type Ring, type RingRequest } from './ring.js';
import { Ringer } from './ringer.js';
import type { HearingChanged } from './session.js';

interface Listener<Topic extends BellTopic> {
  readonly heard: (message: HeardMessages[Topic]) => void;
  readonly changed: HearingChanged;
}

type Listeners = { readonly [Topic in BellTopic]: Set<Listener<Topic>> };

/** From one ring for tasks to the next: with 1 ms a producer at full speed inserted a seventh less over NATS. */
const leastMs = 4;

/** {@link Bell} beside the database: for databases and poolers that wake nobody. */
export class RemoteBell implements Bell {
  readonly canListen = true;
  readonly tellsOthers = true;
  readonly #queue: () => string;
  readonly #lost: (error: unknown) => void;
  readonly #connection: KeptConnection;
  readonly #ringer = new Ringer((ring) => this.#send('tasks', heard(ring)), leastMs);
  readonly #listeners: Listeners = { tasks: new Set(), looks: new Set(), waits: new Set(), ends: new Set() };
  /** Tells what this process sent from what others did: some carriers bring back what they were given. */
  readonly #self = randomUUID();
  /** Why nothing is heard; undefined while rings are. */
  #refusal: unknown;
  #isLosing = false;
  #isClosed = false;

  /**
   * @param queue what tells queues apart, once it is known: the same in all processes of one
   * @param lost told once in a row, where nothing is listened to, that rings are lost: who listens is told by that
   */
  constructor(carrier: BellCarrier, queue: () => string, lost: (error: unknown) => void) {
    this.#queue = queue;
    this.#lost = lost;
    this.#connection = new KeptConnection(
      carrier,
      (text) => this.#received(text),
      (refusal) => this.#changed(refusal),
    );
  }

  async ring<Topic extends BellTopic>(topic: Topic, message: SentMessages[Topic]): Promise<void> {
    if (topic !== 'tasks') {
      this.#tell(topic, message as HeardMessages[Topic]);
      return this.#send(topic, message);
    }
    const ring = message as RingRequest;
    this.#tell('tasks', heard(ring));
    if (isOrder(ring)) return this.#send('tasks', heard(ring));
    this.#ringer.ring(ring);
    return this.#ringer.settled();
  }

  /** Statements reach the database alone. */
  carried(): undefined {
    return undefined;
  }

  async listen<Topic extends BellTopic>(
    topic: Topic,
    listening: (message: HeardMessages[Topic]) => void,
    changed: HearingChanged = () => undefined,
  ): Promise<() => Promise<void>> {
    const listener: Listener<Topic> = { heard: listening, changed };
    this.#listeners[topic].add(listener);
    if (this.#refusal !== undefined) changed(this.#refusal);
    await this.#connection.listen();
    return async () => void this.#listeners[topic].delete(listener);
  }

  /** Resolves when every ring so far is on its way: before the connection is closed. */
  settled(): Promise<void> {
    return this.#ringer.settled();
  }

  /** Ends the connection. Idempotent. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.#connection.close();
  }

  #changed(refusal: unknown): void {
    const wasDeaf = this.#refusal !== undefined;
    this.#refusal = refusal;
    for (const listeners of Object.values(this.#listeners)) {
      for (const { changed } of listeners) changed(refusal);
    }
    // What was rung meanwhile was not heard.
    if (wasDeaf && refusal === undefined) this.#tell('tasks', heardRing({ later: true }));
  }

  /** A ring that is lost delays a task until the next poll. */
  async #send(topic: BellTopic, message: unknown): Promise<void> {
    const text = JSON.stringify({ queue: this.#queue(), topic, message, from: this.#self });
    try {
      await this.#connection.publish(text);
      this.#isLosing = false;
    } catch (error) {
      if (!this.#isLosing && !this.#isClosed && this.#isSilent) this.#lost(error);
      this.#isLosing = true;
    }
  }

  /** True while nobody listens here. */
  get #isSilent(): boolean {
    return Object.values(this.#listeners).every(({ size }) => size === 0);
  }

  #received(text: string): void {
    const { queue, topic, message, from } = readObject(text);
    if (queue !== this.#queue() || from === this.#self || !isTopic(topic)) return;
    const read = readers[topic](message);
    if (read !== undefined) this.#tell(topic, read);
  }

  #tell<Topic extends BellTopic>(topic: Topic, message: HeardMessages[Topic]): void {
    for (const listener of this.#listeners[topic]) listener.heard(message);
  }
}

/** What is none has nothing. */
function readObject(text: string): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** A ring for what was due at once does not say since when: that is by the clock of the database, which is not asked. */
function heard(ring: RingRequest): Ring {
  return heardRing(ring.sentAt === undefined ? ring : { ...ring, dueMs: 'lately' });
}

function isTopic(topic: unknown): topic is BellTopic {
  return typeof topic === 'string' && Object.hasOwn(readers, topic);
}

/** Whoever can connect can ring: what is no message of its topic is not heard. */
const readers: { readonly [Topic in BellTopic]: (message: unknown) => HeardMessages[Topic] | undefined } = {
  tasks: (message) => {
    if (typeof message !== 'object' || message === null) return undefined;
    const { later, halt, changed, dueMs, highest, route } = message as Partial<Record<keyof Ring, unknown>>;
    return {
      later: later === true,
      halt: halt === true,
      changed: changed === true,
      dueMs: typeof dueMs === 'number' || dueMs === 'lately' ? dueMs : undefined,
      highest: typeof highest === 'number' ? highest : undefined,
      route: typeof route === 'string' ? route : undefined,
    };
  },
  looks: readId,
  ends: readId,
  waits: (message) => {
    if (typeof message !== 'object' || message === null) return undefined;
    const { firstAttemptId, forMs } = message as Partial<Record<string, unknown>>;
    const id = readId(firstAttemptId);
    return id !== undefined && typeof forMs === 'number' ? { firstAttemptId: id, forMs } : undefined;
  },
};

function readId(message: unknown): string | undefined {
  return typeof message === 'string' && /^\d{1,20}$/.test(message) ? message : undefined;
}
