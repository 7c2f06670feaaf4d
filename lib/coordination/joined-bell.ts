import type { Bell, BellTopic, CarriedRing, HeardMessages, SentMessages } from './bell.js';
import type { HearingChanged } from './session.js';

/**
 * The bell of a database and one beside it. Both ring, because some processes may hear the one and some the other. Where the database's
 * can be listened to it is heard alone: it tells all that the other does, and what other programs insert.
 */
export class JoinedBell implements Bell {
  readonly canListen = true;
  readonly tellsOthers = true;
  readonly #database: Bell;
  readonly #beside: Bell;

  /** @param beside can be listened to, and tells other processes */
  constructor(database: Bell, beside: Bell) {
    this.#database = database;
    this.#beside = beside;
  }

  async ring<Topic extends BellTopic>(topic: Topic, message: SentMessages[Topic]): Promise<void> {
    await Promise.all([this.#database.ring(topic, message), this.#beside.ring(topic, message)]);
  }

  carried<Topic extends BellTopic>(topic: Topic, message: SentMessages[Topic]): CarriedRing | undefined {
    return this.#database.carried(topic, message);
  }

  listen<Topic extends BellTopic>(
    topic: Topic,
    heard: (message: HeardMessages[Topic]) => void,
    changed?: HearingChanged,
  ): Promise<() => Promise<void>> {
    return (this.#database.canListen ? this.#database : this.#beside).listen(topic, heard, changed);
  }
}
