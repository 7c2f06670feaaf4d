import { decodeText } from '../values/payload-text.js';
import { validatePayload, type StandardSchema } from '../values/standard-schema.js';

/** Schemas of payloads by topic. */
export class TopicSchemas {
  /** Those of the options: they hold for every task of the topic. */
  readonly #given: ReadonlyMap<string, StandardSchema>;
  /** Those of handlers in this process for one topic: what is inserted for them is checked as well. */
  readonly #ofHandlers = new Map<string, StandardSchema>();

  constructor(given: Readonly<Record<string, StandardSchema>> = {}) {
    this.#given = new Map(Object.entries(given));
  }

  learn(topic: string, schema: StandardSchema): void {
    this.#ofHandlers.set(topic, schema);
  }

  /** What handlers without a schema of their own go by; undefined where no topic has one. */
  get forHandlers(): ((topic: string | null) => StandardSchema | undefined) | undefined {
    return this.#given.size === 0 ? undefined : (topic) => this.#given.get(topic ?? '');
  }

  /** True while nothing is checked at insert. */
  get isEmpty(): boolean {
    return this.#given.size === 0 && this.#ofHandlers.size === 0;
  }

  /**
   * Checks what the handler would get. What a schema makes of that is the handler's business: it is not stored.
   *
   * @param payload as it is stored
   * @throws {TarefaError} `PAYLOAD_INVALID`
   */
  async check(topic: string | null, payload: string | null): Promise<void> {
    const schema = this.#given.get(topic ?? '') ?? this.#ofHandlers.get(topic ?? '');
    if (schema) await validatePayload(schema, decodeText(payload, 'json'));
  }
}
