import { decorationsOf, withParents, type Decoration } from './decorated-classes.js';
import { describeHandler, readHandlerMetadata } from './decorators.js';
import { describeRecurring, readRecurring } from './recurring.decorator.js';
import { describeListener, readQueueListeners } from './on-queue-event.js';
import { describeWebhook, readDeclaredWebhooks } from './subscriber-webhook.decorator.js';

/** A decorator of this library that has no effect on a class that an application provides. */
export interface DroppedDecorator {
  readonly queue: string;
  /** `Class.method`, or the class. */
  readonly name: string;
  /** What has become of it, and what to do. */
  readonly message: string;
}

/**
 * Compares what was decorated with what the provided classes carry: a decorator above ours may have put another function
 * in the method's place, a subclass may override it. What such a function carries of ours counts.
 *
 * @param provided prototypes of all classes that the application provides
 */
export function droppedDecorators(provided: Iterable<object>): readonly DroppedDecorator[] {
  const prototypes = new Set(provided);
  const webhooks = new Set([...prototypes].flatMap(webhooksOf));
  const dropped = [...prototypes].flatMap((prototype) =>
    [...withParents(prototype)].flatMap((owner) =>
      decorationsOf(owner).flatMap((decoration) => {
        const why =
          decoration.method === undefined
            ? !webhooks.has(identify(decoration)) && replacedClass(prototype)
            : replacedMethod(prototype, owner, { ...decoration, method: decoration.method });
        if (!why) return [];
        const { decorator, queue, method } = decoration;
        const name = [owner.constructor.name, ...(method === undefined ? [] : [method])].join('.');
        return [{ queue, name, message: `${decorator} on ${name} has no effect: ${why}` }];
      }),
    ),
  );
  // Every subclass of a class that was replaced finds the same.
  return [...new Map(dropped.map((one) => [`${one.queue} ${one.message}`, one])).values()];
}

/** What a class lacks that a decorator has put in the place of a decorated one, or that extends it. */
function replacedClass(prototype: object): string {
  return `the provided class, ${prototype.constructor.name}, does not have it. Put it on that class, or above the decorator that created the class`;
}

/** Why a method that was decorated on `owner` is no handler in a class; undefined when it is one, or is meant not to be. */
function replacedMethod(
  prototype: object,
  owner: object,
  decoration: Decoration & { readonly method: string },
): string | undefined {
  const { method } = decoration;
  const nearest = [...withParents(prototype)].find((one) => Object.hasOwn(one, method));
  if (nearest && carriedBy(nearest, method).has(identify(decoration))) return undefined;
  if (!nearest || nearest === owner) {
    return 'another decorator replaced the method. Put it above that decorator';
  }
  // Decorated again, the overriding method says itself what it is for.
  if (decorationsOf(nearest).some((one) => one.method === method)) return undefined;
  const override = `${nearest.constructor.name}.${method}`;
  return `${override} overrides it without a decorator. Decorate that method too`;
}

/** What the function that a prototype has by that name carries. No getter is called for it: Nest finds no method there. */
function carriedBy(prototype: object, method: string): ReadonlySet<string> {
  const value: unknown = Object.getOwnPropertyDescriptor(prototype, method)?.value;
  if (typeof value !== 'function') return new Set();
  const all = [
    ...readHandlerMetadata(value).map(describeHandler),
    ...readQueueListeners(value).map(describeListener),
    ...readRecurring(value).map(describeRecurring),
  ];
  return new Set(all.map(identify));
}

function webhooksOf({ constructor }: object): readonly string[] {
  return readDeclaredWebhooks(constructor).map((one) => identify(describeWebhook(one)));
}

function identify({ decorator, queue }: Pick<Decoration, 'decorator' | 'queue'>): string {
  return `${queue} ${decorator}`;
}
