import { AsyncLocalStorage } from 'node:async_hooks';
import { ExternalContextCreator, type ModulesContainer, type NestContainer } from '@nestjs/core';
import type { CanActivate, PipeTransform } from '@nestjs/common';
import type { ContextId } from '@nestjs/core';
import type { TaskContext } from '../task.js';
import type { EnhancerKind } from '../options/enhancer-kinds.js';
import { applicationConfigOf, GlobalEnhancers, type LeftOut } from './global-enhancers.js';
import { callMethod, type Invoke, type NamedMethod } from './handler-invocation.js';
import { argumentsOf, paramsFactory } from './handler-params.js';
import { explainRefusal } from './explain-refusal.js';
import { queueContextType } from './queue-context.js';

/** Where Nest keeps what `@UseGuards()`, `@UseInterceptors()`, `@UsePipes()` and `@UseFilters()` say. */
const enhancerKeys = ['__guards__', '__interceptors__', '__pipes__', '__exceptionFilters__'] as const;
const [, , , filtersKey] = enhancerKeys;

type Method = (...args: unknown[]) => unknown;
export type Instance = object;

/** One call of a handler that Nest runs. */
interface Call {
  readonly ctx: TaskContext;
  /** True once guards and pipes have let it through. */
  began: boolean;
  /** The guard that is asked, and the pipe that has refused: names of their classes, empty where they have none. */
  guard: string | undefined;
  pipe: string | undefined;
}

/** A method as Nest's enhancers see it. */
export interface EnhancedMethod extends NamedMethod {
  readonly type: object;
  /** The function of the class: the metadata are on it, whatever an instance has in its place. */
  readonly implementation: object;
  /** Key of the module that provides its class: where the enhancers' own providers are. */
  readonly moduleKey: string;
}

/** Makes the function that runs a method of that instance with its enhancers; the ids are those of one that is made for a task. */
export type Bind = (instance: Instance, contextId?: ContextId, inquirerId?: string) => Invoke;

/** Runs handlers with guards, interceptors, pipes, filters and decorated parameters, as Nest does for a request. */
export class EnhancedHandlers {
  readonly #calls = new AsyncLocalStorage<Call>();
  readonly #globals: GlobalEnhancers;
  readonly #modules: ModulesContainer;

  /**
   * @param own the application's creator, which knows its global enhancers
   * @param chosen global enhancers that run around queue handlers too
   */
  constructor(own: ExternalContextCreator, modules: ModulesContainer, chosen: readonly EnhancerKind[]) {
    this.#globals = new GlobalEnhancers(applicationConfigOf(own), chosen);
    this.#modules = modules;
  }

  /** Global enhancers that do not run around queue handlers. */
  leftOut(): readonly LeftOut[] {
    return this.#globals.leftOut();
  }

  /** True when Nest has to run a method; all others are called directly, which costs less. */
  uses({ type, implementation, method }: Omit<EnhancedMethod, 'moduleKey'>): boolean {
    return (
      this.#globals.any ||
      argumentsOf(type, method).decorated ||
      enhancerKeys.some((key) => Reflect.hasMetadata(key, type) || Reflect.hasMetadata(key, implementation))
    );
  }

  /** Prepares a method, once for all its instances. */
  binder(enhanced: EnhancedMethod): Bind {
    const { type, implementation, method, name } = enhanced;
    const { metadataKey, contextAt } = argumentsOf(type, method);
    const filters =
      this.#globals.filters ||
      Reflect.hasMetadata(filtersKey, type) ||
      Reflect.hasMetadata(filtersKey, implementation);
    const creator = this.#creatorFor(enhanced);
    return (instance, contextId, inquirerId) => {
      const target = creator.create(
        instance,
        this.#callback(instance, enhanced, contextAt),
        method,
        metadataKey,
        paramsFactory,
        contextId,
        inquirerId,
        { guards: true, interceptors: true, filters },
        queueContextType,
      );
      return (payload, ctx) => this.#run(target, name, payload, ctx);
    };
  }

  /**
   * A creator of its own for each method: it keeps what it has read of one by the name of the class, of which an
   * application may have several.
   */
  #creatorFor({ moduleKey }: EnhancedMethod): ExternalContextCreator {
    // The creator reads nothing else of a container.
    const container = { applicationConfig: this.#globals, getModules: () => this.#modules };
    const creator = ExternalContextCreator.fromContainer(container as unknown as NestContainer);
    // By default it skips controllers, whose guards would then be left out silently.
    creator.getContextModuleKey = () => moduleKey;
    this.#nameGuards(creator);
    this.#namePipes(creator);
    return creator;
  }

  /** Nest says that a guard has refused, but not which one. */
  #nameGuards(creator: ExternalContextCreator): void {
    const createGuardsFn = creator.createGuardsFn.bind(creator);
    const named = (guard: CanActivate): CanActivate => ({
      canActivate: (context) => {
        this.#note('guard', guard);
        return guard.canActivate(context);
      },
    });
    creator.createGuardsFn = (guards: CanActivate[], ...rest) => {
      const ask = createGuardsFn(guards.map(named), ...rest) as ((args: unknown[]) => Promise<void>) | null;
      if (!ask) return null;
      return async (args: unknown[]) => {
        await ask(args);
        this.#note('guard', undefined);
      };
    };
  }

  #namePipes(creator: ExternalContextCreator): void {
    const getParamValue = creator.getParamValue.bind(creator);
    const named = (pipe: PipeTransform): PipeTransform => ({
      transform: async (value, metadata) => {
        try {
          return (await pipe.transform(value, metadata)) as unknown;
        } catch (error) {
          this.#note('pipe', pipe);
          throw error;
        }
      },
    });
    creator.getParamValue = (value, metadata, pipes) => getParamValue(value, metadata, pipes.map(named));
  }

  #note(kind: 'guard' | 'pipe', one: object | undefined): void {
    const call = this.#calls.getStore();
    if (call) call[kind] = one && classNameOf(one);
  }

  async #run(target: Method, name: string, payload: unknown, ctx: TaskContext): Promise<unknown> {
    const call: Call = { ctx, began: false, guard: undefined, pipe: undefined };
    try {
      return await this.#calls.run(call, () => target(payload, ctx));
    } catch (error) {
      throw call.began ? error : explainRefusal(error, { name, ...call });
    }
  }

  /** What Nest calls in the end. Metadata of the method are found through its prototype. */
  #callback(instance: Instance, enhanced: EnhancedMethod, contextAt: readonly number[]): Method {
    const callback = (...args: unknown[]): unknown => {
      const call = this.#calls.getStore();
      if (call) {
        call.began = true;
        for (const index of contextAt) args[index] = call.ctx;
      }
      return callMethod(instance, enhanced, ...args);
    };
    const { implementation } = enhanced;
    Object.defineProperty(callback, 'name', { value: (implementation as Method).name });
    return Object.setPrototypeOf(callback, implementation) as Method;
  }
}

function classNameOf({ constructor }: { readonly constructor?: unknown }): string {
  return typeof constructor === 'function' && constructor !== Object ? constructor.name : '';
}
