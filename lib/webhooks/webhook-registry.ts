import {
  publicationRoute,
  routesAfter,
  subscriptionPrefix,
  subscriptionRoute,
  webhookRoute,
} from '../storage/route.js';
import type { RouteRange } from '../storage/waiting-route.js';
import type { Route } from '../storage/attempt.js';
import { HandlerRegistry, type RouteHandlers } from '../subscribers/handler-registry.js';
import type { WebhookDelivery } from './webhook-delivery.js';
import type { WebhookRoutes } from './webhook-routes.js';

const everySubscription = routesAfter(subscriptionPrefix);

/** What serves webhooks: every route that is one, as it turns up. Their dead tasks may have handlers in code. */
export class WebhookRegistry extends HandlerRegistry {
  readonly #routes: WebhookRoutes;
  readonly #delivery: WebhookDelivery;
  readonly #code: HandlerRegistry;

  constructor(routes: WebhookRoutes, delivery: WebhookDelivery, code: HandlerRegistry) {
    super();
    this.#routes = routes;
    this.#delivery = delivery;
    this.#code = code;
  }

  override of(route: Route): RouteHandlers {
    if (route === publicationRoute || !this.#routes.includes(route))
      return { live: undefined, dead: undefined };
    const id = route.slice(subscriptionRoute('').length);
    return { live: this.#delivery.handlerOf(id), dead: this.#code.of(route).dead };
  }

  override learn(pending: readonly Route[]): Promise<void> {
    return this.#routes.learn(pending);
  }

  override get announced(): readonly Route[] {
    return [webhookRoute];
  }

  /** Routes are found when they have tasks. */
  override get takesAny(): readonly RouteRange[] {
    return [everySubscription];
  }

  override get isEmpty(): boolean {
    return false;
  }
}
