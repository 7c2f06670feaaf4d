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
export function instancePerTask(
  wrapper: InstanceWrapper,
  discovery: DiscoveryService,
): (ctx: TaskContext) => Promise<MadeInstance> {
  const moduleRef = moduleRefOf(wrapper);
  // A strategy that only knows requests is not asked where it would change nothing.
  const isShared = hasDurablePart(wrapper, discovery.getProviders());
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
function hasDurablePart(
  wrapper: InstanceWrapper,
  providers: readonly InstanceWrapper[],
  seen = new Set<InstanceWrapper>(),
): boolean {
  if (wrapper.durable) return true;
  if (seen.has(wrapper)) return false;
  seen.add(wrapper);
  const properties = wrapper.getPropertiesMetadata();
  const injected: readonly (InstanceWrapper | undefined)[] =
    (wrapper.getCtorMetadata() ?? properties)
      ? [...(wrapper.getCtorMetadata() ?? []), ...(properties ?? []).map((property) => property.wrapper)]
      : injectedByToken(wrapper, providers);
  const parts = [...injected, ...(wrapper.getEnhancersMetadata() ?? [])];
  return parts.some((part) => part !== undefined && hasDurablePart(part, providers, seen));
}

/**
 * What is injected into a provider that Nest has not looked into: before 12.5, Nest 12 first does so when it makes what is of a
 * request. Of several with one token all count.
 */
function injectedByToken(
  { metatype, inject }: InstanceWrapper,
  providers: readonly InstanceWrapper[],
): readonly InstanceWrapper[] {
  if (typeof metatype !== 'function') return [];
  const read = (key: string): readonly unknown[] =>
    (Reflect.getMetadata(key, metatype) as readonly unknown[] | undefined) ?? [];
  const given = inject ?? [
    ...read('design:paramtypes'),
    ...read('self:paramtypes').map((one) => (one as { readonly param: unknown }).param),
    ...read('self:properties_metadata').map((one) => (one as { readonly type: unknown }).type),
  ];
  const tokens = new Set(given.map(tokenOf));
  return providers.filter(({ token }) => tokens.has(token));
}

/** A token may be wrapped: `forwardRef(() => Other)`, `{ token, optional: true }`. */
function tokenOf(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given;
  const { forwardRef, token } = given as { readonly forwardRef?: () => unknown; readonly token?: unknown };
  return forwardRef ? forwardRef() : token;
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
