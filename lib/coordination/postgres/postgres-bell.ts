import type { Bell, BellTopic, CarriedRing, HeardMessages, SentMessages } from '../bell.js';
import { isOrder, messageOf, readRing, type RingMessage } from '../ring.js';
import { Ringer } from '../ringer.js';
import type { HearingChanged, Session, SessionUse } from '../session.js';
import { createHash } from 'node:crypto';

/** {@link Bell} of NOTIFY, heard by one PostgreSQL session. */
export class PostgresBell implements Bell {
  /** Rings for tasks. */
  readonly ringer: Ringer;
  /** Sends a notification by whatever connection is free. */
  readonly #send: (channel: string, message: RingMessage) => Promise<void>;
  /** Undefined where no session can listen. */
  readonly #use: SessionUse | undefined;
  /** Channel of the tasks: programs in other languages ring there as well. */
  readonly #channel: string;
  /** Schema-qualified table, once it is known: the other channels are named after it. */
  readonly #qualifiedTable: () => string;
  #listeners = 0;
  #session: Promise<Session> | undefined;

  constructor(
    send: (channel: string, message: RingMessage) => Promise<void>,
    use: SessionUse | undefined,
    channel: string,
    qualifiedTable: () => string,
  ) {
    this.#send = send;
    this.#use = use;
    this.#channel = channel;
    this.#qualifiedTable = qualifiedTable;
    this.ringer = new Ringer((ring) => send(channel, messageOf(ring)));
  }

  get canListen(): boolean {
    return this.#use !== undefined;
  }

  get tellsOthers(): boolean {
    return this.canListen;
  }

  async ring<Topic extends BellTopic>(topic: Topic, message: SentMessages[Topic]): Promise<void> {
    if (topic === 'tasks' && !isOrder(message as SentMessages['tasks'])) {
      this.ringer.ring(message as SentMessages['tasks']);
      return this.ringer.settled();
    }
    const sent = { text: texts[topic].write(message as never), dueMs: undefined, agoMs: undefined };
    await this.#send(this.#channelOf(topic), sent).catch(() => undefined);
  }

  carried<Topic extends BellTopic>(topic: Topic, message: SentMessages[Topic]): CarriedRing | undefined {
    if (!this.canListen) return undefined;
    return { channel: this.#channelOf(topic), text: texts[topic].write(message as never) };
  }

  async listen<Topic extends BellTopic>(
    topic: Topic,
    heard: (message: HeardMessages[Topic]) => void,
    changed: HearingChanged = () => undefined,
  ): Promise<() => Promise<void>> {
    const session = await this.#open();
    this.#listeners += 1;
    const read = (text: string): void => {
      const message = texts[topic].read(text);
      if (message !== undefined) heard(message as HeardMessages[Topic]);
    };
    const stop = await session.listen(this.#channelOf(topic), read, changed);
    return async () => {
      await stop().catch(() => undefined);
      this.#listeners -= 1;
      if (this.#listeners === 0) await this.#close();
    };
  }

  /** Resolves when every ring so far is on its way: before the connections are closed. */
  settled(): Promise<void> {
    return this.ringer.settled();
  }

  #open(): Promise<Session> {
    if (!this.#use) return Promise.reject(new Error('there is no session to listen with'));
    this.#session ??= this.#use.open().catch((error: unknown) => {
      this.#session = undefined;
      throw error;
    });
    return this.#session;
  }

  async #close(): Promise<void> {
    this.#session = undefined;
    await this.#use?.close();
  }

  #channelOf(topic: BellTopic): string {
    if (topic === 'tasks') return this.#channel;
    return { looks: looksChannel, waits: waitsChannel, ends: endsChannel }[topic](this.#qualifiedTable());
  }
}

const same = (text: string): string => text;

/** How messages are written and read. What cannot be read is not heard. */
const texts = {
  tasks: { write: (ring: SentMessages['tasks']) => messageOf(ring).text, read: readRing },
  looks: { write: same, read: same },
  ends: { write: same, read: same },
  waits: {
    write: ({ firstAttemptId, forMs }: SentMessages['waits']) => `${firstAttemptId} ${forMs}`,
    read: (text: string): HeardMessages['waits'] | undefined => {
      const [, firstAttemptId, ms] = /^(\d+) (\d+)$/.exec(text) ?? [];
      return firstAttemptId === undefined ? undefined : { firstAttemptId, forMs: Number(ms) };
    },
  },
};

/** Name of a channel that a queue's processes use among themselves. The table's name may be too long for it. */
function channelOf(purpose: string, qualifiedTable: string): string {
  return `tarefa_${purpose}_${createHash('sha256').update(qualifiedTable).digest('hex').slice(0, 32)}`;
}

/** Where workers hear that one of them has looked who is lost. */
export const looksChannel = (qualifiedTable: string): string => channelOf('looks', qualifiedTable);

/** Where workers hear that a caller waits for a task: id of its first attempt, and for how many ms. */
export const waitsChannel = (qualifiedTable: string): string => channelOf('waits', qualifiedTable);

/** Where it is said that such a task has ended: id of its first attempt. */
export const endsChannel = (qualifiedTable: string): string => channelOf('ends', qualifiedTable);
