import { isStandardSchema, type StandardSchema } from '../values/standard-schema.js';
import { withoutUnset } from '../values/without-unset.js';
import type { OptionCheck } from './option-check.js';
import type { QueueOptions } from './queue-options.js';

/** Reads the option, the mistakes of which `check` collects. */
export function checkSchemas(
  given: QueueOptions['schemas'],
  check: OptionCheck,
): Readonly<Record<string, StandardSchema>> {
  if (given !== undefined && (typeof given !== 'object' || Array.isArray(given))) {
    check.mistake('schemas must be an object of schemas by topic');
    return {};
  }
  const schemas = withoutUnset(given ?? {}) as Readonly<Record<string, StandardSchema>>;
  for (const [topic, schema] of Object.entries(schemas)) {
    if (!isStandardSchema(schema)) {
      check.mistake(`schemas: the schema of ${JSON.stringify(topic)} does not implement Standard Schema`);
    }
  }
  return Object.freeze({ ...schemas });
}
