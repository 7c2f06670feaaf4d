import type { ArgumentsHost } from '@nestjs/common';

/** What `getType()` of an execution context answers in guards, interceptors and filters of a queue handler. */
export const queueContextType = 'queue';

/**
 * True in a guard, an interceptor, a filter or a parameter decorator when it runs for a queue handler. The arguments
 * are the payload and the `TaskContext`, which `switchToRpc()` names `getData()` and `getContext()`.
 *
 * @example
 * canActivate(context: ExecutionContext) {
 *   if (isQueueContext(context)) return this.mayRun(context.switchToRpc().getContext<TaskContext>().task);
 *   return this.isLoggedIn(context.switchToHttp().getRequest());
 * }
 */
export function isQueueContext(host: ArgumentsHost): boolean {
  return host.getType<string>() === queueContextType;
}
