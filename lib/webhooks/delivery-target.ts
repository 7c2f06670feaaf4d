import { TarefaError } from '../errors.js';
import type { EndpointStore } from '../storage/endpoints.js';
import type { Task } from '../task.js';
import { readDelivery } from '../worker/running/delivery-envelope.js';
import type { DeliverySeal } from './delivery-seal.js';
import type { WebhookRequest } from './webhook-request.js';

/** Where a delivery goes, and what is sent there. */
export type DeliveryTarget = Required<Pick<WebhookRequest, 'url' | 'method' | 'headers' | 'body'>>;

/**
 * Says where a delivery goes: where its subscription led when it was published, if a worker has written that down, and
 * else where it leads now. So a role that may only insert tasks cannot choose a URL.
 */
export class DeliveryTargets {
  readonly #endpoints: Pick<EndpointStore, 'address'>;
  readonly #seal: Pick<DeliverySeal, 'fits'>;

  constructor(endpoints: Pick<EndpointStore, 'address'>, seal: Pick<DeliverySeal, 'fits'>) {
    this.#endpoints = endpoints;
    this.#seal = seal;
  }

  /** @throws {TarefaError} `HANDLER_NOT_REGISTERED` when it goes nowhere */
  async of(task: Task, stored: string | null): Promise<DeliveryTarget> {
    const { publication: body, subscription } = readDelivery(stored, task);
    if (subscription.url !== null && (await this.#seal.fits(stored ?? '', task))) {
      const { url, httpMethod: method, headers } = subscription;
      return { url, method, headers, body };
    }
    return { ...(await this.#present(task)), body };
  }

  async #present({ id, subscriptionId }: Task): Promise<Omit<DeliveryTarget, 'body'>> {
    const address = subscriptionId === null ? undefined : await this.#endpoints.address(subscriptionId);
    if (address && address.url !== null) {
      const { url, httpMethod: method, headers } = address;
      return { url, method, headers };
    }
    throw new TarefaError(
      'HANDLER_NOT_REGISTERED',
      `not registered: no method of this process handles subscription '${subscriptionId}', which ` +
        `${address ? 'has no URL' : 'does not exist'}, and delivery ${id} has no valid seal of a worker that says where it goes`,
    );
  }
}
