import type { StandardSchema } from '../standard-schema.js';

/** Schemas of payloads by topic: those of the options, and those of handlers for one topic in this process. */
export class TopicSchemas {
  readonly #byTopic: Map<string, StandardSchema>;

  constructor(given: Readonly<Record<string, StandardSchema>> = {}) {
    this.#byTopic = new Map(Object.entries(given));
  }

  /** A handler's schema; what the options say of its topic stands. */
  learn(topic: string, schema: StandardSchema): void {
    if (!this.#byTopic.has(topic)) this.#byTopic.set(topic, schema);
  }

  get isEmpty(): boolean {
    return this.#byTopic.size === 0;
  }

  of(topic: string | null | undefined): StandardSchema | undefined {
    return topic == null ? undefined : this.#byTopic.get(topic);
  }
}
