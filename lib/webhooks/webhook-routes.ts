import { plainRoute, subscriptionRoute } from '../storage/route.js';
import type { Route } from '../storage/attempt.js';
import type { LeftRoutes } from '../subscribers/handler-registry.js';
import type { EndpointRegistry } from './endpoint-registry.js';

/** What a subscription is, is looked up again after this time. */
const knownForMs = 5_000;
const prefix = subscriptionRoute('');

/** What code of this process handles. */
export interface CodeRoutes {
  /** True for what a method handles. */
  has(route: Route): boolean;
  /** Routes with a method for dead tasks only. */
  readonly deadOnly: readonly Route[];
}

/**
 * Which deliveries are webhooks: those of subscriptions with a URL that no method here handles, and those that were
 * declared so. Looked up when a route turns up; one whose subscription is gone is a webhook as well, because its
 * deliveries say where they go.
 */
export class WebhookRoutes implements LeftRoutes {
  readonly #endpoints: Pick<EndpointRegistry, 'haveUrls'>;
  readonly #declared = new Set<Route>();
  readonly #known = new Map<Route, { readonly isWebhook: boolean; readonly at: number }>();
  #code: CodeRoutes = { has: () => false, deadOnly: [] };

  constructor(endpoints: Pick<EndpointRegistry, 'haveUrls'>) {
    this.#endpoints = endpoints;
  }

  /** @param ids subscriptions that are webhooks whatever the table says */
  declare(ids: readonly string[], code: CodeRoutes): void {
    for (const id of ids) this.#declared.add(subscriptionRoute(id));
    this.#code = code;
  }

  includes(route: Route): boolean {
    if (!route.startsWith(prefix) || this.#code.has(route)) return false;
    // What has only a dead handler in code is more likely a webhook than a mistake.
    return (
      this.#declared.has(route) || (this.#known.get(route)?.isWebhook ?? this.#code.deadOnly.includes(route))
    );
  }

  /** Looks up what is not known of those routes. */
  async learn(pending: readonly Route[]): Promise<void> {
    const now = performance.now();
    const unknown = pending
      .map(plainRoute)
      .filter((route) => route.startsWith(prefix) && !this.#code.has(route) && !this.#isFresh(route, now));
    if (unknown.length === 0) return;
    const urls = await this.#endpoints.haveUrls(unknown.map((route) => route.slice(prefix.length)));
    for (const route of unknown) {
      this.#known.set(route, { isWebhook: urls.get(route.slice(prefix.length)) ?? true, at: now });
    }
  }

  #isFresh(route: Route, now: number): boolean {
    const known = this.#known.get(route);
    return known !== undefined && now - known.at < knownForMs;
  }
}
