import type { Bell, BellTopic, CarriedRing, HeardMessages, SentMessages } from './bell.js';
import type { HearingChanged } from './session.js';

/** The bell of a database and one beside it: what the one cannot carry the other may. What both carry is heard twice. */
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

  async listen<Topic extends BellTopic>(
    topic: Topic,
    heard: (message: HeardMessages[Topic]) => void,
    changed: HearingChanged = () => undefined,
  ): Promise<() => Promise<void>> {
    if (!this.#database.canListen) return this.#beside.listen(topic, heard, changed);
    // Each rings for what the other does not: without one of them something is not heard.
    const refusals: { database?: unknown; beside?: unknown } = {};
    const told =
      (bell: keyof typeof refusals): HearingChanged =>
      (refusal) => {
        refusals[bell] = refusal;
        changed(refusals.database ?? refusals.beside);
      };
    const stops = [
      await this.#database.listen(topic, heard, told('database')),
      await this.#beside.listen(topic, heard, told('beside')),
    ];
    return async () => {
      for (const stop of stops) await stop();
    };
  }
}
