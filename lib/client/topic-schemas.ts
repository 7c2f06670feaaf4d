import type { OptionCheck } from '../options/option-check.js';
import { decodeText } from '../values/payload-text.js';
import type { QueueOptions } from '../options/queue-options.js';
import { withoutUnset } from '../values/without-unset.js';
import { isStandardSchema, validatePayload, type StandardSchema } from '../values/standard-schema.js';

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

/** Reads the option, the mistakes of which `check` collects. */
export function checkSchemas(
  given: QueueOptions['schemas'],
  check: OptionCheck,
): Readonly<Record<string, StandardSchema>> {
  if (given !== undefined && (typeof given !== 'object' || Array.isArray(given))) {
    check.mistake('schemas must be an object: a schema by topic');
    return {};
  }
  const schemas = withoutUnset(given ?? {}) as Readonly<Record<string, StandardSchema>>;
  for (const [topic, schema] of Object.entries(schemas)) {
    if (!isStandardSchema(schema)) {
      check.mistake(`schemas: that of ${JSON.stringify(topic)} does not implement Standard Schema`);
    }
  }
  return Object.freeze({ ...schemas });
}
