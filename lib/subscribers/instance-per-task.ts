import { ContextIdFactory, ModuleRef, type ContextId, type DiscoveryService } from '@nestjs/core';
import type { TaskContext } from '../task.js';
import type { Instance } from './enhanced-handler.js';

type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** An instance for one task, and the context of Nest's in which it was made. */
export interface MadeInstance {
  readonly instance: Instance;
  readonly contextId: ContextId;
}

/**
 * Makes a request-scoped or transient handler for each task, whose context it can inject as REQUEST. The application's
 * `ContextIdStrategy` says which tasks share what is durable in it, as it does for requests.
 */
export function instancePerTask(wrapper: InstanceWrapper): (ctx: TaskContext) => Promise<MadeInstance> {
  const moduleRef = moduleRefOf(wrapper);
  // A strategy that only knows requests is not asked where it would change nothing.
  const isShared = hasDurablePart(wrapper);
  const isDurable = isShared && wrapper.isDependencyTreeDurable();
  return async (ctx) => {
    const contextId = isShared ? ContextIdFactory.getByRequest(ctx) : ContextIdFactory.create();
    const { payload } = contextId;
    // What is durable outlives the task, so that it has to do with the payload of the strategy.
    const request = isDurable ? payload : withPayload(ctx, payload);
    moduleRef.registerRequestByContextId(request, contextId);
    const instance = await moduleRef.resolve<Instance>(wrapper.token, contextId, { strict: true });
    return { instance, contextId };
  };
}

/** True when something of what a provider is made of, or runs with, is durable. */
function hasDurablePart(wrapper: InstanceWrapper, seen = new Set<InstanceWrapper>()): boolean {
  if (wrapper.durable) return true;
  if (seen.has(wrapper)) return false;
  seen.add(wrapper);
  const parts: readonly (InstanceWrapper | undefined)[] = [
    ...(wrapper.getCtorMetadata() ?? []),
    ...(wrapper.getPropertiesMetadata() ?? []).map((property) => property.wrapper),
    ...(wrapper.getEnhancersMetadata() ?? []),
  ];
  return parts.some((part) => part !== undefined && hasDurablePart(part, seen));
}

/** As Nest does with a request: before 12.5, a durable provider below one that is not gets this as its REQUEST. */
function withPayload(ctx: TaskContext, payload: unknown): TaskContext {
  const added = Object.entries(Object(payload) as object).filter(([name]) => !(name in ctx));
  return Object.assign(ctx, Object.fromEntries(added));
}

/** That of the provider's own module: others may provide something else by the same token. */
function moduleRefOf({ host, token }: InstanceWrapper): ModuleRef {
  const own: unknown = host?.getProviderByKey(ModuleRef)?.instance;
  if (own instanceof ModuleRef) return own;
  throw new Error(`Nest has no module for the provider ${String(token)}`);
}
