import { inspect } from 'node:util';
import { isNativeError } from 'node:util/types';
import { safely } from './safely.js';
import { cleanMessage, longestMessage } from './stored-text.js';

/** Other properties of an error that may be told, as plain values by their names. */
export type PropertiesOf = (error: object) => Readonly<Record<string, unknown>>;

/** Characters kept of an error with its stack. */
const longestError = 8_000;
const longestName = 100;
const mostFrames = 50;
/** Errors told of one that was thrown: itself, its causes, and the first ones of an `AggregateError`. */
const mostErrors = 12;
const mostOfOne = 5;
const mostNames = 20;
const indescribable = 'the handler threw something that cannot be described';
const untold = '…';

/** The text of whatever a handler threw, cut to what the message column takes. Never throws. */
export function failureMessage(error: unknown): string {
  const read = (): string => {
    // Its type says text, but an error may carry any value.
    const text: unknown = isError(error) ? error.message || error.name : (ownMessage(error) ?? thrown(error));
    return cleanMessage(String(text));
  };
  return safely(read, indescribable);
}

/**
 * The whole story for the `erro` column: names, messages, stacks and codes of an error and its causes, capped. Clients of
 * HTTP and drivers keep requests, headers, rows and parameters in other properties: these are told only as far as
 * `propertiesOf` answers them. Never throws.
 */
export function failureDetail(error: unknown, propertiesOf: PropertiesOf = () => ({})): string {
  const read = (): string => {
    if (typeof error !== 'object' || error === null) return thrown(error);
    const story = new Story(propertiesOf).of(error);
    return isError(error) ? story : `the handler threw ${story}`;
  };
  return safely(read, indescribable).replaceAll('\0', '').slice(0, longestError);
}

/** True for errors of every realm, and for what is made like one. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || isNativeError(value);
}

/** Tells an error with its causes. */
class Story {
  readonly #propertiesOf: PropertiesOf;
  readonly #told = new Set<object>();

  constructor(propertiesOf: PropertiesOf) {
    this.#propertiesOf = propertiesOf;
  }

  of(error: object): string {
    this.#told.add(error);
    const facts = safely(() => this.#factsOf(error), []);
    const title = isError(error) ? titleOf(error) : shown(error);
    return facts.length === 0 ? title : `${title} {\n${indented(facts.join(',\n'))}\n}`;
  }

  #factsOf(error: object): readonly string[] {
    const facts: string[] = [];
    const { code, cause, errors } = error as Readonly<Record<string, unknown>>;
    if (isError(error) && isShort(code)) facts.push(`code: ${inspect(code)}`);
    if (cause !== undefined) facts.push(`[cause]: ${this.#below(cause)}`);
    if (error instanceof AggregateError && Array.isArray(errors)) {
      const some = errors.slice(0, mostOfOne).map((one) => this.#below(one));
      facts.push(`[errors]: [\n${indented(some.join(',\n'))}\n]`);
    }
    for (const [name, value] of Object.entries(safely(() => this.#propertiesOf(error), {}))) {
      facts.push(`${name}: ${inspect(value, { depth: 10, breakLength: 100 })}`);
    }
    return facts;
  }

  #below(value: unknown): string {
    if (typeof value !== 'object' || value === null) return shown(value);
    if (this.#told.has(value)) return '[circular]';
    return this.#told.size < mostErrors ? this.of(value) : untold;
  }
}

/** Its name and message, and where it came from: the rest of a stack may hold any text. */
function titleOf(error: Error): string {
  // Classes of errors seldom give themselves a name.
  const { constructor: made } = error as { readonly constructor?: { readonly name?: string } };
  const name = error.name === 'Error' ? made?.name || 'Error' : error.name;
  const title = error.message === '' ? name : `${name}: ${error.message}`;
  const stack: unknown = error.stack;
  const lines = typeof stack === 'string' ? stack.split('\n') : [];
  const frames = lines.filter((line) => /^ {4}at /.test(line)).slice(0, mostFrames);
  return [title, ...frames].join('\n');
}

/** What was thrown and is no error. */
function thrown(value: unknown): string {
  return typeof value === 'string' && value !== '' ? value : `the handler threw ${shown(value)}`;
}

/** An object's own message, as plain objects that stand for errors have one. */
function ownMessage(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { message } = value as { readonly message?: unknown };
  return typeof message === 'string' && message !== '' ? message : undefined;
}

/** A value of any kind; of an object no more than what tells errors apart, and the names of the rest. */
function shown(value: unknown): string {
  if (typeof value === 'function') return `[Function: ${value.name}]`;
  if (typeof value !== 'object' || value === null) return inspect(value, { maxStringLength: longestMessage });
  if (Array.isArray(value)) return `a list of ${value.length} values`;
  const names = Object.keys(value);
  const fields = names.slice(0, mostNames).map((name) => {
    const own = tellsErrorsApart.has(name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
    return `${name.slice(0, longestName)}: ${isShort(own) ? inspect(own) : untold}`;
  });
  if (names.length > mostNames) fields.push(untold);
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1);
  const prefix = kind === 'Object' ? '' : `${kind} `;
  return fields.length === 0 ? `${prefix}{}` : `${prefix}{ ${fields.join(', ')} }`;
}

const tellsErrorsApart: ReadonlySet<string> = new Set(['name', 'message', 'code']);

function isShort(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && value.length <= longestMessage);
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}
