import type { Bell, BellTopic, HeardMessages, SentMessages } from '../bell.js';
import { heardRing } from '../ring.js';

type Listeners = { readonly [Topic in BellTopic]: Set<(message: HeardMessages[Topic]) => void> };

/** {@link Bell} of one process. */
export class MemoryBell implements Bell {
  readonly canListen = true;
  readonly tellsOthers = true;
  readonly #listeners: Listeners = { tasks: new Set(), looks: new Set(), waits: new Set(), ends: new Set() };

  async ring<Topic extends BellTopic>(topic: Topic, message: SentMessages[Topic]): Promise<void> {
    const heard = topic === 'tasks' ? heardRing(message as SentMessages['tasks']) : message;
    for (const listener of this.#listeners[topic]) listener(heard as never);
  }

  carried(): undefined {
    return undefined;
  }

  async listen<Topic extends BellTopic>(
    topic: Topic,
    heard: (message: HeardMessages[Topic]) => void,
  ): Promise<() => Promise<void>> {
    const listener = (message: HeardMessages[Topic]): void => heard(message);
    this.#listeners[topic].add(listener);
    return async () => void this.#listeners[topic].delete(listener);
  }
}
