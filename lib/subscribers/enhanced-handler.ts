import { AsyncLocalStorage } from 'node:async_hooks';
import { ExternalContextCreator, type ModulesContainer, type NestContainer } from '@nestjs/core';
import type { ContextId } from '@nestjs/core';
import { TarefaError } from '../errors.js';
import type { TaskContext } from '../task.js';
import type { EnhancerKind } from '../options/enhancer-kinds.js';
import { applicationConfigOf, GlobalEnhancers, type LeftOut } from './global-enhancers.js';
import { argumentsOf, paramsFactory } from './handler-params.js';
import { queueContextType } from './queue-context.js';

/** Where Nest keeps what `@UseGuards()`, `@UseInterceptors()`, `@UsePipes()` and `@UseFilters()` say. */
const enhancerKeys = ['__guards__', '__interceptors__', '__pipes__', '__exceptionFilters__'] as const;
const [, , , filtersKey] = enhancerKeys;

/** HTTP statuses for input that is wrong, and stays wrong at the next attempt. */
const refusals = [400, 422];

type Method = (...args: unknown[]) => unknown;
export type Instance = Record<string, Method>;

/** One call of a handler that Nest runs. */
interface Call {
  readonly ctx: TaskContext;
  /** True once guards and pipes have let it through. */
  began: boolean;
}

/** A method as Nest's enhancers see it. */
export interface EnhancedMethod {
  readonly method: string;
  /** Key of the module that provides its class: where the enhancers' own providers are. */
  readonly moduleKey: string;
}

/** Runs handlers with guards, interceptors, pipes, filters and decorated parameters, as Nest does for a request. */
export class EnhancedHandlers {
  readonly #calls = new AsyncLocalStorage<Call>();
  readonly #globals: GlobalEnhancers;
  readonly #creator: ExternalContextCreator;
  #moduleKey = '';

  /**
   * @param own the application's creator, which knows its global enhancers
   * @param chosen global enhancers that run around queue handlers too
   */
  constructor(own: ExternalContextCreator, modules: ModulesContainer, chosen: readonly EnhancerKind[]) {
    this.#globals = new GlobalEnhancers(applicationConfigOf(own), chosen);
    // The creator reads nothing else of a container.
    const container = { applicationConfig: this.#globals, getModules: () => modules };
    this.#creator = ExternalContextCreator.fromContainer(container as unknown as NestContainer);
    // By default it skips controllers, whose guards would then be left out silently.
    this.#creator.getContextModuleKey = () => this.#moduleKey;
  }

  /** Global enhancers that do not run around queue handlers. */
  leftOut(): readonly LeftOut[] {
    return this.#globals.leftOut();
  }

  /** True when Nest has to run a method; all others are called directly, which costs less. */
  uses(type: object, implementation: object, method: string): boolean {
    return (
      this.#globals.any ||
      argumentsOf(type, method).decorated ||
      enhancerKeys.some((key) => Reflect.hasMetadata(key, type) || Reflect.hasMetadata(key, implementation))
    );
  }

  /** Makes the function that runs a method of that instance with its enhancers. */
  bind(
    instance: Instance,
    { method, moduleKey }: EnhancedMethod,
    contextId?: ContextId,
    inquirerId?: string,
  ): (payload: unknown, ctx: TaskContext) => Promise<unknown> {
    const type = instance.constructor;
    const { metadataKey, contextAt } = argumentsOf(type, method);
    const implementation = instance[method] as Method;
    const filters =
      this.#globals.filters ||
      Reflect.hasMetadata(filtersKey, type) ||
      Reflect.hasMetadata(filtersKey, implementation);
    this.#moduleKey = moduleKey;
    const target = this.#creator.create(
      instance,
      this.#callback(instance, method, contextAt),
      method,
      metadataKey,
      paramsFactory,
      contextId,
      inquirerId,
      { guards: true, interceptors: true, filters },
      queueContextType,
    );
    return (payload, ctx) => this.#run(target, payload, ctx);
  }

  async #run(target: Method, payload: unknown, ctx: TaskContext): Promise<unknown> {
    const call: Call = { ctx, began: false };
    try {
      return await this.#calls.run(call, () => target(payload, ctx));
    } catch (error) {
      throw call.began ? error : explainRefusal(error);
    }
  }

  /** What Nest calls in the end. Metadata of the method are found through its prototype. */
  #callback(instance: Instance, method: string, contextAt: readonly number[]): Method {
    const callback = (...args: unknown[]): unknown => {
      const call = this.#calls.getStore();
      if (call) {
        call.began = true;
        for (const index of contextAt) args[index] = call.ctx;
      }
      // The method is taken at each call: instances may be wrapped or spied on after discovery.
      return instance[method]?.(...args);
    };
    const implementation = instance[method] as Method;
    Object.defineProperty(callback, 'name', { value: implementation.name });
    return Object.setPrototypeOf(callback, implementation) as Method;
  }
}

/** A pipe that refuses a payload refuses it again at the next attempt. */
function explainRefusal(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error;
  const { getStatus, getResponse } = error as { getStatus?: () => unknown; getResponse?: () => unknown };
  if (typeof getStatus !== 'function' || !refusals.includes(Number(getStatus.call(error)))) return error;
  const response = typeof getResponse === 'function' ? getResponse.call(error) : undefined;
  return new TarefaError('PAYLOAD_INVALID', `the payload was refused: ${describe(response, error)}`, {
    cause: error,
  });
}

/** `ValidationPipe` answers what is wrong as a list. */
function describe(response: unknown, error: unknown): string {
  const message = (response as { message?: unknown } | null | undefined)?.message ?? response;
  if (Array.isArray(message)) return message.map(String).join('; ');
  return typeof message === 'string' ? message : (error as Error).message;
}
