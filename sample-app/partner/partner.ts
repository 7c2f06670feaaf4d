import { Injectable } from '@nestjs/common';
import { QueueAdmin, QueueWebhooks } from '../../lib/index.js';
import { orderPlaced } from '../orders/order.js';

const subscriptionId = 'partner';

/**
 * A company that wants to know of every order: it gave us a URL, and got a secret. Here it is the shop itself, so that both
 * ends can be seen.
 */
@Injectable()
export class Partner {
  /** What it knows by now: what was shown when its secret was made. */
  secret: string | undefined;
  /** Ids of messages that it has: one that comes again is thanked for and not counted. */
  readonly received = new Set<string>();

  constructor(
    private readonly admin: QueueAdmin,
    private readonly webhooks: QueueWebhooks,
  ) {}

  /** @param address where the partner's own server listens */
  async subscribe(address: string): Promise<void> {
    const subscription = { topic: orderPlaced, url: `${address}/partner/orders`, httpMethod: 'POST' };
    const { subscriptions } = this.admin;
    if (await subscriptions.find(subscriptionId)) await subscriptions.update(subscriptionId, subscription);
    else await subscriptions.add({ id: subscriptionId, ...subscription });
    this.secret = await this.webhooks.createSecret(subscriptionId);
  }
}
