import { decodeText } from '../values/stored-text.js';
import { validatePayload, type StandardSchema } from '../values/standard-schema.js';

/** Schemas of payloads by topic. */
export class TopicSchemas {
  /** Schemas of the options, for every task of the topic. */
  readonly #given: ReadonlyMap<string, StandardSchema>;
  /** Schemas of this process's handlers for one topic, which check inserts as well. */
  readonly #ofHandlers = new Map<string, StandardSchema>();
  /** True while inserts are not checked. */
  isEmpty: boolean;

  constructor(given: Readonly<Record<string, StandardSchema>> = {}) {
    this.#given = new Map(Object.entries(given));
    this.isEmpty = this.#given.size === 0;
  }

  learn(topic: string, schema: StandardSchema): void {
    this.#ofHandlers.set(topic, schema);
    this.isEmpty = false;
  }

  /** Schema for handlers without one of their own; undefined where no topic has one. */
  get forHandlers(): ((topic: string | null) => StandardSchema | undefined) | undefined {
    return this.#given.size === 0 ? undefined : (topic) => this.#given.get(topic ?? '');
  }

  /**
   * Checks the payload that the handler would get. A schema's transformations are not stored: they are made again for the
   * handler.
   *
   * @param payload as it is stored
   * @throws {TarefaError} `PAYLOAD_INVALID`
   */
  async check(topic: string | null, payload: string | null): Promise<void> {
    const schema = this.#given.get(topic ?? '') ?? this.#ofHandlers.get(topic ?? '');
    if (schema) await validatePayload(schema, decodeText(payload, 'json'));
  }
}
