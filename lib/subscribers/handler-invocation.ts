import type { WrapHandler } from '../options/wrap-handler.js';
import { isObservable, lastValueFrom } from 'rxjs';
import { isGeneratorObject } from 'node:util/types';
import { hasCode, TarefaError } from '../errors.js';
import type { TaskContext } from '../task.js';
import type { InContext } from '../values/own-context.js';
import { validatePayload, type StandardSchema } from '../values/standard-schema.js';
import { HandlerRefusal } from './handler-refusal.js';

/** Runs a handler. */
export type Invoke = (payload: unknown, ctx: TaskContext) => unknown;

/** What wraps a handler, from the outside in. */
export interface Wrapping {
  /** What is the application's starts with the async context of the module, whichever loop calls it. */
  readonly inContext: InContext;
  readonly wrapHandler: WrapHandler | undefined;
  readonly schemaOf: ((ctx: TaskContext) => StandardSchema | undefined) | undefined;
}

/** A method of a class that a module provides. */
export interface NamedMethod {
  readonly method: string;
  /** `Class.method`. */
  readonly name: string;
}

/** The method of an instance that handles tasks. */
export function invocationOf(instance: object, method: NamedMethod): Invoke {
  return (payload, ctx) => settleReturn(callMethod(instance, method, payload, ctx));
}

/** Wraps a handler in the hook and the schema, where there are any. */
export function wrapInvocation(invoke: Invoke, { inContext, wrapHandler, schemaOf }: Wrapping): Invoke {
  const checked: Invoke = schemaOf
    ? (payload, ctx) => {
        const schema = schemaOf(ctx);
        if (!schema) return invoke(payload, ctx);
        return validatePayload(schema, payload).then((value) => invoke(value, ctx), refuse);
      }
    : invoke;
  const wrapped: Invoke = wrapHandler
    ? (payload, ctx) => wrapHandler(async () => settleReturn(await checked(payload, ctx)), ctx)
    : checked;
  return (payload, ctx) => inContext(wrapped, payload, ctx);
}

/**
 * Calls a method, which is taken at each call: instances may be wrapped or spied on after discovery.
 *
 * @throws {TarefaError} `HANDLER_MISSING`, or what the method throws
 */
export function callMethod(instance: object, { method, name }: NamedMethod, ...args: unknown[]): unknown {
  const found: unknown = Reflect.get(instance, method);
  if (typeof found === 'function') return Reflect.apply(found, instance, args);
  throw new TarefaError(
    'HANDLER_MISSING',
    `${name} was not run: the object that its module provides no longer has this method (it is ${
      found === null ? 'null' : typeof found
    })`,
  );
}

/** A handler may return an observable, as Nest's own do: its last value counts. */
export function settleReturn(returned: unknown): unknown {
  return isObservable(returned) ? lastValueFrom(returned, { defaultValue: undefined }) : returned;
}

/** True for what a handler resolved with before it has run: somebody has to subscribe to it, or to ask it for values. */
export function isUnfinished(returned: unknown): boolean {
  return (
    typeof returned === 'object' && returned !== null && (isGenerator(returned) || isObservable(returned))
  );
}

/**
 * Runs what a handler resolved with to its end.
 *
 * @throws {TarefaError} `HANDLER_INVALID` for a generator, of which nothing has run
 */
export function finishReturn(returned: unknown, name: string): unknown {
  if (isObservable(returned)) return settleReturn(returned);
  throw new TarefaError('HANDLER_INVALID', `${name} was not run: ${generatorProblem}`);
}

/** Why a generator is no handler and no listener. */
export const generatorProblem =
  'it is a generator, and calling a generator runs none of it. Make it an async method';

/** One that a compiler has translated is an object like any other. */
function isGenerator(value: object): boolean {
  if (isGeneratorObject(value)) return true;
  if (!(Symbol.iterator in value || Symbol.asyncIterator in value)) return false;
  const { next, return: end, throw: fail } = value as Record<string, unknown>;
  return [next, end, fail].every((one) => typeof one === 'function');
}

function refuse(error: unknown): never {
  if (!hasCode(error, 'PAYLOAD_INVALID')) throw error;
  throw new HandlerRefusal('PAYLOAD_INVALID', error.message, error);
}
