import { AsyncResource } from 'node:async_hooks';

/** Calls a function in the async context that was kept. */
export type InContext = <Arguments extends unknown[], Returned>(
  call: (...args: Arguments) => Returned,
  ...args: Arguments
) => Returned;

/**
 * Keeps the async context of now for code of the application that loops call later: they run in whatever they were started
 * in. Each call gets a resource of its own, because `enterWith()` of an `AsyncLocalStorage` may write into the one that
 * it is called in: shared, it would hand its store to every later call.
 */
export function keepContext(): InContext {
  const kept = new AsyncResource('TarefaContext');
  const begin = (): AsyncResource => new AsyncResource('TarefaCall');
  return (call, ...args) => kept.runInAsyncScope(begin).runInAsyncScope(call, undefined, ...args);
}
