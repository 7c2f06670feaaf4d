import { ContextIdFactory, DiscoveryService, MetadataScanner, ModuleRef } from '@nestjs/core';
import type { TaskContext } from '../task.js';
import { defaultQueueName } from '../queue.tokens.js';
import { readHandlerMetadata, type HandlerMetadata } from './decorators.js';
import type { Handler, HandlerRegistry } from './handler-registry.js';
import { resolveHandlerRules } from './handler-rules.js';

type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];
type Method = (payload: unknown, ctx: TaskContext) => unknown;

/** A decorated method that was found. */
export interface FoundHandler {
  readonly metadata: HandlerMetadata;
  readonly wrapper: InstanceWrapper;
  /** `Class.method`. */
  readonly name: string;
  readonly method: string;
  readonly queue: string;
}

/** Finds decorated methods on all providers and controllers of the application. */
export class SubscriberExplorer {
  readonly #discovery: DiscoveryService;
  readonly #scanner: MetadataScanner;
  readonly #moduleRef: ModuleRef;

  constructor(discovery: DiscoveryService, scanner: MetadataScanner, moduleRef: ModuleRef) {
    this.#discovery = discovery;
    this.#scanner = scanner;
    this.#moduleRef = moduleRef;
  }

  /** Every handler of the application, whichever queue it is for. */
  explore(): readonly FoundHandler[] {
    const seen = new Set<object>();
    return [...this.#discovery.getProviders(), ...this.#discovery.getControllers()].flatMap((wrapper) =>
      this.#exploreOne(wrapper, seen),
    );
  }

  /**
   * Fills a queue's registry.
   *
   * @throws {TarefaError} `HANDLER_INVALID` for an id declared twice, `OPTIONS_INVALID`
   */
  register(found: readonly FoundHandler[], queue: string, registry: HandlerRegistry): void {
    for (const one of found) {
      if (one.queue === queue) registry.add(one.metadata.target, this.#handlerOf(one));
    }
  }

  #exploreOne(wrapper: InstanceWrapper, seen: Set<object>): readonly FoundHandler[] {
    const prototype = prototypeOf(wrapper);
    if (!prototype) return [];
    // One instance behind two tokens (useExisting) is one set of handlers.
    const identity: unknown = wrapper.isDependencyTreeStatic() ? wrapper.instance : wrapper;
    if (typeof identity !== 'object' || identity === null || seen.has(identity)) return [];
    seen.add(identity);
    return this.#scanner
      .getAllMethodNames(prototype)
      .flatMap((method) => this.#exploreMethod(wrapper, prototype, method));
  }

  #exploreMethod(wrapper: InstanceWrapper, prototype: object, method: string): readonly FoundHandler[] {
    const implementation: unknown = Reflect.get(prototype, method);
    if (typeof implementation !== 'function') return [];
    const name = `${prototype.constructor.name}.${method}`;
    return readHandlerMetadata(implementation).map((metadata) => ({
      metadata,
      wrapper,
      name,
      method,
      queue: metadata.options.queue ?? defaultQueueName,
    }));
  }

  #handlerOf({ metadata, wrapper, name, method }: FoundHandler): Handler {
    const rules = resolveHandlerRules(metadata, name);
    // The instance of a transient provider that nobody injects was never constructed.
    if (!wrapper.isDependencyTreeStatic() || wrapper.isTransient) {
      return { name, rules, invoke: (payload, ctx) => this.#invokeScoped(wrapper, method, payload, ctx) };
    }
    // The method is taken at each call: instances may be wrapped or spied on after discovery.
    const instance = wrapper.instance as Record<string, Method>;
    return { name, rules, invoke: (payload, ctx) => instance[method]?.(payload, ctx) };
  }

  /** A request-scoped or transient provider is made anew for each task, whose context it can inject as REQUEST. */
  async #invokeScoped(
    wrapper: InstanceWrapper,
    method: string,
    payload: unknown,
    ctx: TaskContext,
  ): Promise<unknown> {
    const contextId = ContextIdFactory.create();
    this.#moduleRef.registerRequestByContextId(ctx, contextId);
    const instance = await this.#moduleRef.resolve<Record<string, Method>>(wrapper.token, contextId, {
      strict: false,
    });
    return instance[method]?.(payload, ctx);
  }
}

/** Values and factories may yield anything: only objects with a class of their own are looked at. */
function prototypeOf(wrapper: InstanceWrapper): object | undefined {
  const instance: unknown = wrapper.instance;
  if (typeof instance !== 'object' || instance === null) return undefined;
  const prototype: unknown = Object.getPrototypeOf(instance);
  return typeof prototype !== 'object' || prototype === null || prototype === Object.prototype
    ? undefined
    : prototype;
}
