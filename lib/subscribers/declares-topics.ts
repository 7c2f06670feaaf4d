import type { ModulesContainer } from '@nestjs/core';
import { defaultQueueName } from '../options/part-token.js';
import { withParents } from './decorated-classes.js';
import { readHandlerMetadata } from './decorators.js';

/**
 * Looks whether a class of the application has a `@Subscriber` with a topic, before any of them is constructed. What factories make is
 * not seen yet.
 */
export function declaresTopics(modules: ModulesContainer, queue: string): boolean {
  return [...modules.values()].some(({ providers, controllers }) =>
    [...providers.values(), ...controllers.values()].some(
      ({ metatype }) => typeof metatype === 'function' && hasTopic(metatype.prototype as unknown, queue),
    ),
  );
}

function hasTopic(prototype: unknown, queue: string): boolean {
  if (typeof prototype !== 'object' || prototype === null) return false;
  return [...withParents(prototype)].some((one) =>
    Object.values(Object.getOwnPropertyDescriptors(one)).some(
      ({ value }: { readonly value?: unknown }) =>
        typeof value === 'function' &&
        readHandlerMetadata(value).some(
          ({ target, options }) =>
            target.kind === 'subscriber' &&
            options.topic !== undefined &&
            (options.queue ?? defaultQueueName) === queue,
        ),
    ),
  );
}
