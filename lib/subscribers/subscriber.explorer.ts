import { isGeneratorFunction } from 'node:util/types';
import { DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { TarefaError } from '../errors.js';
import type { TopicSchemas } from '../client/topic-schemas.js';
import type { QueueEventName } from '../events.js';
import { defaultQueueName } from '../options/part-token.js';
import { readHandlerMetadata, type HandlerMetadata } from './decorators.js';
import { readDeclaredWebhooks, type DeclaredWebhook } from './subscriber-webhook.decorator.js';
import { droppedDecorators, type DroppedDecorator } from './dropped-decorators.js';
import type { EnhancedHandlers, Instance } from './enhanced-handler.js';
import { instancePerTask } from './instance-per-task.js';
import {
  callMethod,
  generatorProblem,
  invocationOf,
  wrapInvocation,
  type Invoke,
  type NamedMethod,
  type Wrapping,
} from './handler-invocation.js';
import type { Lanes } from '../options/lanes.js';
import type { WrapHandler } from '../options/wrap-handler.js';
import type { Handler, HandlerRegistry } from './handler-registry.js';
import { resolveHandlerRules } from './handler-rules.js';
import { readRecurring, type RecurringMetadata } from './recurring.decorator.js';
import { readQueueListeners } from './on-queue-event.js';
import { keepContext } from '../values/own-context.js';

type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** A decorated method that was found. */
export interface FoundHandler extends FoundMethod {
  readonly metadata: HandlerMetadata;
  readonly queue: string;
}

/** A schedule that stands on a method. */
export interface FoundRecurring {
  readonly metadata: RecurringMetadata;
  readonly queue: string;
  /** `Class.method`. */
  readonly name: string;
  /** The function of the class. */
  readonly implementation: object;
}

/** A method that listens to a queue's events. */
export interface FoundListener {
  readonly event: QueueEventName;
  readonly queue: string;
  /** `Class.method`. */
  readonly name: string;
  /** Undefined where there is no instance to call: its class is created for each request or user. */
  readonly call: ((event: unknown) => unknown) | undefined;
}

interface FoundMethod extends NamedMethod {
  readonly wrapper: InstanceWrapper;
  /** The function of the class. */
  readonly implementation: object;
}

export interface SubscriberExplorerParts {
  readonly discovery: DiscoveryService;
  readonly scanner: MetadataScanner;
  readonly modules: ModulesContainer;
  readonly enhanced: EnhancedHandlers;
  readonly schemas: TopicSchemas;
  readonly wrapHandler: WrapHandler | undefined;
  readonly lanes: Lanes;
}

/** Finds decorated methods on all providers and controllers of the application. */
export class SubscriberExplorer {
  readonly #parts: SubscriberExplorerParts;
  readonly #inContext = keepContext();

  constructor(parts: SubscriberExplorerParts) {
    this.#parts = parts;
  }

  /** Every handler of the application, whichever queue it is for. */
  explore(): readonly FoundHandler[] {
    return this.#methods().flatMap((found) =>
      readHandlerMetadata(found.implementation).map((metadata) => ({
        ...found,
        metadata,
        queue: metadata.options.queue ?? defaultQueueName,
      })),
    );
  }

  /**
   * Every method that listens to events.
   *
   * @throws {TarefaError} `HANDLER_INVALID` for a generator
   */
  listeners(): readonly FoundListener[] {
    return this.#methods().flatMap((found) =>
      readQueueListeners(found.implementation).map(({ event, queue = defaultQueueName }) => {
        const { wrapper, name } = found;
        refuseGenerator(found);
        const call = (told: unknown): unknown => callMethod(wrapper.instance as Instance, found, told);
        return { event, queue, name, call: hasOneInstance(wrapper) ? call : undefined };
      }),
    );
  }

  /** Every schedule of the application, whichever queue it is for. */
  recurring(): readonly FoundRecurring[] {
    return this.#methods().flatMap(({ name, implementation }) =>
      readRecurring(implementation).map((metadata) => ({
        metadata,
        queue: metadata.options.queue ?? defaultQueueName,
        ...{ name, implementation },
      })),
    );
  }

  /** Decorators of this library that have no effect on what the application provides. */
  dropped(): readonly DroppedDecorator[] {
    return droppedDecorators(this.provided());
  }

  /** Subscriptions that classes declare to be webhooks. */
  webhooks(): readonly (DeclaredWebhook & { readonly name: string })[] {
    const { discovery } = this.#parts;
    const types = new Set(
      [...discovery.getProviders(), ...discovery.getControllers()].map(({ metatype }) => metatype),
    );
    return [...types].flatMap((type) =>
      typeof type === 'function'
        ? readDeclaredWebhooks(type).map((one) => ({ ...one, name: type.name }))
        : [],
    );
  }

  /**
   * Fills a queue's registry.
   *
   * @throws {TarefaError} `HANDLER_INVALID` for an id declared twice and for a generator, `OPTIONS_INVALID`
   */
  register(found: readonly FoundHandler[], queue: string, registry: HandlerRegistry): void {
    for (const one of found) {
      if (one.queue === queue) registry.add(one.metadata.target, this.#handlerOf(one));
    }
  }

  /** Prototypes of all provided classes, constructed already or made for each task. */
  provided(): readonly object[] {
    const { discovery } = this.#parts;
    return [...discovery.getProviders(), ...discovery.getControllers()].flatMap((wrapper) => {
      const declared: unknown =
        typeof wrapper.metatype === 'function' ? wrapper.metatype.prototype : undefined;
      const made = prototypeOf(wrapper);
      return [declared, made].filter((one): one is object => typeof one === 'object' && one !== null);
    });
  }

  #methods(): readonly FoundMethod[] {
    const seen = new Set<object>();
    const { discovery } = this.#parts;
    return [...discovery.getProviders(), ...discovery.getControllers()].flatMap((wrapper) =>
      this.#methodsOf(wrapper, seen),
    );
  }

  #methodsOf(wrapper: InstanceWrapper, seen: Set<object>): readonly FoundMethod[] {
    const prototype = prototypeOf(wrapper);
    if (!prototype) return [];
    // An instance with two tokens (useExisting) has one set of handlers.
    const identity: unknown = wrapper.isDependencyTreeStatic() ? wrapper.instance : wrapper;
    if (typeof identity !== 'object' || identity === null || seen.has(identity)) return [];
    seen.add(identity);
    return this.#parts.scanner.getAllMethodNames(prototype).flatMap((method) => {
      const implementation: unknown = Reflect.get(prototype, method);
      const name = `${prototype.constructor.name}.${method}`;
      return typeof implementation === 'function' ? [{ wrapper, name, method, implementation }] : [];
    });
  }

  /** What is the application's starts with the async context of the module, whichever loop calls it. */
  #handlerOf(found: FoundHandler): Handler {
    const { metadata, name } = found;
    const rules = resolveHandlerRules(metadata, name, this.#parts.lanes);
    refuseGenerator(found);
    const invoke = wrapInvocation(this.#invokeOf(found), {
      inContext: this.#inContext,
      wrapHandler: this.#parts.wrapHandler,
      schemaOf: this.#schemaOf(metadata),
    });
    const { retryDelay } = rules;
    return {
      name,
      type: typeOf(found),
      rules: { ...rules, retryDelay: retryDelay && ((attempt) => this.#inContext(retryDelay, attempt)) },
      invoke,
    };
  }

  /** A dead handler receives payloads that could not be handled, so only a schema of its own checks them. */
  #schemaOf({ target, options: { schema } }: HandlerMetadata): Wrapping['schemaOf'] {
    const { schemas } = this.#parts;
    if (schema && target.kind === 'task' && target.id !== undefined) schemas.learn(target.id, schema);
    if (schema) return () => schema;
    const { forHandlers } = schemas;
    const isDead = target.kind === 'dead-subscriber' || target.kind === 'dead-task';
    return isDead || !forHandlers ? undefined : ({ task }) => forHandlers(task.topic);
  }

  #invokeOf(found: FoundHandler): Invoke {
    const { enhanced, discovery } = this.#parts;
    const { wrapper } = found;
    const method = { ...found, type: typeOf(found), moduleKey: this.#moduleKeyOf(wrapper) };
    const bind = enhanced.uses(method) ? enhanced.binder(method) : undefined;
    if (hasOneInstance(wrapper)) {
      const instance = wrapper.instance as Instance;
      if (bind) return bind(instance);
      return invocationOf(instance, found);
    }
    const make = instancePerTask(wrapper, discovery);
    return async (payload, ctx) => {
      const { instance, contextId } = await make(ctx);
      const invoke = bind ? bind(instance, contextId, wrapper.id) : invocationOf(instance, found);
      return invoke(payload, ctx);
    };
  }

  #moduleKeyOf({ host }: InstanceWrapper): string {
    for (const [key, module] of this.#parts.modules) if (module === host) return key;
    return '';
  }
}

/** Values and factories may provide anything; only objects with a class of their own can have handlers. */
function prototypeOf(wrapper: InstanceWrapper): object | undefined {
  const instance: unknown = wrapper.instance;
  if (typeof instance !== 'object' || instance === null) return undefined;
  const prototype: unknown = Object.getPrototypeOf(instance);
  return typeof prototype !== 'object' || prototype === null || prototype === Object.prototype
    ? undefined
    : prototype;
}

/** A transient provider that is injected nowhere has no constructed instance, and a request-scoped one never has. */
function hasOneInstance(wrapper: InstanceWrapper): boolean {
  return wrapper.isDependencyTreeStatic() && !wrapper.isTransient;
}

function typeOf({ wrapper }: FoundMethod): object {
  return (wrapper.instance as object).constructor;
}

function refuseGenerator({ name, implementation }: FoundMethod): void {
  if (isGeneratorFunction(implementation)) {
    throw new TarefaError('HANDLER_INVALID', `${name} cannot work: ${generatorProblem}`);
  }
}
