import type { Bell, BellTopic, HeardMessages, SentMessages } from '../bell.js';
import { heardRing, isOrder, type Ring, type RingRequest } from '../ring.js';
import { Ringer } from '../ringer.js';
import type { HearingChanged } from '../session.js';
import { listenCall, readCall, ringCall } from './calls.js';
import { ServerLink, type ServerLinkParts } from './server-link.js';

export interface TcpBellParts extends Pick<ServerLinkParts, 'host' | 'port' | 'messageTimeoutMs'> {
  /** What tells queues apart, once it is known: the same in all processes of one. */
  readonly queue: () => string;
}

/** How soon a process that only rings connects again to a server that did not let it. */
const openAgainMs = 1_000;

interface Listener<Topic extends BellTopic> {
  readonly heard: (message: HeardMessages[Topic]) => void;
  readonly changed: HearingChanged;
}

type Listeners = { readonly [Topic in BellTopic]: Set<Listener<Topic>> };

/** {@link Bell} of the server of the client-server mode: for databases and poolers that wake nobody. */
export class TcpBell implements Bell {
  readonly canListen = true;
  readonly tellsOthers = true;
  readonly #parts: TcpBellParts;
  readonly #ringer = new Ringer((ring) => this.#send('tasks', heard(ring)));
  readonly #listeners: Listeners = { tasks: new Set(), looks: new Set(), waits: new Set(), ends: new Set() };
  #link: ServerLink | undefined;
  /** Why nothing is heard; undefined while rings are. */
  #refusal: unknown;
  /** When who only rings may connect again. */
  #mayOpenAt = -Infinity;
  #isClosed = false;

  constructor(parts: TcpBellParts) {
    this.#parts = parts;
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

  /** Statements reach the database, not the server. */
  carried(): undefined {
    return undefined;
  }

  async listen<Topic extends BellTopic>(
    topic: Topic,
    listening: (message: HeardMessages[Topic]) => void,
    changed: HearingChanged = () => undefined,
  ): Promise<() => Promise<void>> {
    // A connection that only rang asks for no rings.
    const silent = this.#isSilent ? this.#link : undefined;
    const listener: Listener<Topic> = { heard: listening, changed };
    this.#listeners[topic].add(listener);
    if (this.#refusal !== undefined) changed(this.#refusal);
    if (silent) {
      // What is on its way goes first.
      await this.#ringer.settled();
      if (this.#link === silent) await this.#disconnect();
    }
    await this.#open();
    return async () => {
      this.#listeners[topic].delete(listener);
      if (this.#isSilent) await this.#disconnect();
    };
  }

  /** Resolves when every ring so far is on its way: before the connection is closed. */
  settled(): Promise<void> {
    return this.#ringer.settled();
  }

  /** Ends the connection. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#disconnect();
  }

  async #disconnect(): Promise<void> {
    const link = this.#link;
    this.#link = undefined;
    this.#refusal = undefined;
    await link?.close();
  }

  /** True while nobody listens. */
  get #isSilent(): boolean {
    return Object.values(this.#listeners).every(({ size }) => size === 0);
  }

  /** Resolves when there is a connection, or none could be made. */
  async #open(): Promise<void> {
    if (this.#isClosed) return;
    if (!this.#link) {
      if (this.#isSilent && performance.now() < this.#mayOpenAt) return;
      this.#link = this.#connect();
    }
    await this.#link.tried;
  }

  #connect(): ServerLink {
    const { queue: _queue, ...server } = this.#parts;
    const link: ServerLink = new ServerLink({
      ...server,
      received: (message) => this.#received(message),
      up: () => this.#ask(link),
      down: (error) => (this.#isSilent ? this.#rest(link) : this.#changed(error)),
    });
    link.open();
    return link;
  }

  /** Who only rings connects when there is something to ring for. */
  #rest({ hasAnswered }: ServerLink): void {
    if (!hasAnswered) this.#mayOpenAt = performance.now() + openAgainMs;
    void this.#disconnect();
  }

  /** Tells the server that rings are to come, where somebody listens. */
  async #ask(link: ServerLink): Promise<void> {
    if (this.#isSilent) return;
    if (!(await link.call(listenCall(this.#parts.queue())))) {
      throw new Error('it sends no rings: it is the server of nsj-queue-lib, or this is not its lock port');
    }
    this.#changed(undefined);
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
    await this.#open();
    await this.#link?.call(ringCall({ queue: this.#parts.queue(), topic, message })).catch(() => undefined);
  }

  #received(text: string): void {
    const call = readCall(text);
    if (call?.name !== 'ring' || call.ring.queue !== this.#parts.queue()) return;
    const { topic, message } = call.ring;
    const read = isTopic(topic) ? readers[topic](message) : undefined;
    if (read !== undefined) this.#tell(topic as BellTopic, read);
  }

  #tell<Topic extends BellTopic>(topic: Topic, message: HeardMessages[Topic]): void {
    for (const listener of this.#listeners[topic]) listener.heard(message);
  }
}

/** A ring for what was due at once says nothing of since when: that is by the clock of the database, which is not asked. */
function heard(ring: RingRequest): Ring {
  return heardRing(ring.sentAt === undefined ? ring : { ...ring, dueMs: undefined });
}

function isTopic(topic: string): topic is BellTopic {
  return Object.hasOwn(readers, topic);
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
      dueMs: typeof dueMs === 'number' ? dueMs : undefined,
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
