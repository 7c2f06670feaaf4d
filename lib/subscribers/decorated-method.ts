import { TarefaError } from '../errors.js';

/**
 * Returns the method that a decorator stands on, and refuses one that Nest would never find, instead of ignoring it.
 *
 * @param decorator as users write it
 * @throws {TarefaError} `HANDLER_INVALID`
 */
export function decoratedMethod(
  decorator: string,
  target: object,
  name: string | symbol | undefined,
  descriptor: PropertyDescriptor | undefined,
): { readonly method: string; readonly implementation: object } {
  const refuse = (why: string): TarefaError => {
    const { name: type } = typeof target === 'function' ? target : target.constructor;
    const place = name === undefined ? type : `${type}.${String(name)}`;
    return new TarefaError(
      'HANDLER_INVALID',
      `${decorator} on ${place} cannot work: ${why}. Put it on a method of a provider's class`,
    );
  };
  if (name === undefined) throw refuse('it is a class');
  if (typeof target === 'function') throw refuse('a static method has no instance');
  if (typeof name === 'symbol') throw refuse('Nest only finds methods whose names are strings');
  const value: unknown = descriptor?.value;
  if (typeof value !== 'function') throw refuse('it is not a method');
  return { method: name, implementation: value };
}
