import type { WrapHandler } from '../options/wrap-handler.js';
import { isObservable, lastValueFrom } from 'rxjs';
import type { TaskContext } from '../task.js';
import { validatePayload, type StandardSchema } from '../values/standard-schema.js';

/** Runs a handler. */
export type Invoke = (payload: unknown, ctx: TaskContext) => unknown;

/** What wraps a handler, from the outside in. */
export interface Wrapping {
  readonly wrapHandler: WrapHandler | undefined;
  readonly schemaOf: ((ctx: TaskContext) => StandardSchema | undefined) | undefined;
}

/** Wraps a handler in the hook and the schema. Without either it stays as it is. */
export function wrapInvocation(invoke: Invoke, { wrapHandler, schemaOf }: Wrapping): Invoke {
  const checked: Invoke = schemaOf
    ? (payload, ctx) => {
        const schema = schemaOf(ctx);
        if (!schema) return invoke(payload, ctx);
        return validatePayload(schema, payload).then((value) => invoke(value, ctx));
      }
    : invoke;
  if (!wrapHandler) return checked;
  return (payload, ctx) => wrapHandler(async () => checked(payload, ctx), ctx);
}

/** A handler may return an observable, as Nest's own do: its last value counts. */
export function settleReturn(returned: unknown): unknown {
  return isObservable(returned) ? lastValueFrom(returned, { defaultValue: undefined }) : returned;
}
