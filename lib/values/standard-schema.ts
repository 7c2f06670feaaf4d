import { TarefaError } from '../errors.js';

/**
 * A schema of any library that implements Standard Schema (https://standardschema.dev): Zod, Valibot, ArkType and
 * others. Only what is used here.
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** What a schema makes of a value: another value, or what is wrong with it. */
export type SchemaResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] };

/** One thing that is wrong with a value, and where. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Issues named in a message. */
const mostIssues = 10;

/** True for a schema that can be used. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  const standard = (value as Partial<StandardSchema> | null | undefined)?.['~standard'];
  return typeof standard?.validate === 'function';
}

/**
 * Checks a payload and answers what the schema makes of it.
 *
 * @throws {TarefaError} `PAYLOAD_INVALID`, saying which field is wrong
 */
export async function validatePayload(schema: StandardSchema, payload: unknown): Promise<unknown> {
  const result = await schema['~standard'].validate(payload);
  if (result.issues) {
    throw new TarefaError('PAYLOAD_INVALID', `the payload is invalid: ${describeIssues(result.issues)}`);
  }
  return result.value;
}

function describeIssues(issues: readonly SchemaIssue[]): string {
  const shown = issues.slice(0, mostIssues).map(({ message, path = [] }) => {
    const keys = path.map((segment) => String(typeof segment === 'object' ? segment.key : segment));
    return keys.length === 0 ? message : `${keys.join('.')}: ${message}`;
  });
  const more = issues.length - shown.length;
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
}
