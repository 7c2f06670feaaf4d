import type { QueueAdmin } from '../admin/queue-admin.js';
import type { TaskPage } from '../admin/task-answers.js';
import { subscriptionNotFound } from '../admin/subscription-admin.js';
import { TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { EndpointRecord, EndpointStore } from '../storage/endpoints.js';
import type { TaskStatus } from '../task.js';
import { deliveryMessage } from './delivery-message.js';
import type { EndpointRegistry } from './endpoint-registry.js';
import { generateKeyPair, generateSecret } from './signing-secret.js';
import type { WebhookClient } from './webhook-client.js';
import { WebhookFailure } from './webhook-failure.js';
import { webhookId } from './webhook-id.js';

/** What is known of a subscription's endpoint. */
export interface WebhookEndpoint {
  readonly subscriptionId: string;
  readonly url: string | null;
  /** False: deliveries wait, and publications make none. */
  readonly active: boolean;
  /** Failures in a row. */
  readonly failures: number;
  readonly failingSince: Date | null;
  /** Written once a minute while the endpoint answers. */
  readonly lastSuccessAt: Date | null;
  /** While it rests: until when. */
  readonly restsUntil: Date | null;
  readonly deactivatedAt: Date | null;
  readonly deactivatedFor: string | null;
  /** True when its deliveries are signed. */
  readonly signed: boolean;
}

/** What became of a test ping. The answer's body is left out: who chose the URL may not be allowed to read it. */
export interface PingResult {
  readonly ok: boolean;
  /** Undefined when there was no answer. */
  readonly status: number | undefined;
  readonly durationMs: number | undefined;
  /** Why there was no answer. */
  readonly failure: string | undefined;
}

/** Which deliveries to list. */
export interface DeliveryFilter {
  readonly status?: TaskStatus | readonly TaskStatus[] | undefined;
  /** Due at that time or later. */
  readonly since?: Date | undefined;
}

/**
 * What an operator of webhooks wants to know and do.
 *
 * @example
 * constructor(private readonly webhooks: QueueWebhooks) {}
 * const secret = await this.webhooks.createSecret('crm'); // shown once: hand it to the receiver
 */
export class QueueWebhooks {
  readonly #store: EndpointStore;
  readonly #admin: QueueAdmin;
  readonly #endpoints: EndpointRegistry;
  readonly #client: WebhookClient;
  readonly #events: QueueEvents;

  /** @hidden */
  constructor(
    store: EndpointStore,
    admin: QueueAdmin,
    endpoints: EndpointRegistry,
    client: WebhookClient,
    events: QueueEvents,
  ) {
    this.#store = store;
    this.#admin = admin;
    this.#endpoints = endpoints;
    this.#client = client;
    this.#events = events;
  }

  /**
   * Makes a signing secret and answers it, this once. Secrets that were there sign as well for 24 hours, so that receivers
   * have time to change; workers use it within seconds. It signs for the origin (scheme, host and port) that the subscription
   * leads to now, and for no other.
   *
   * @returns `whsec_` and 32 random bytes in base64, as Standard Webhooks have it
   * @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND`
   */
  async createSecret(subscriptionId: string): Promise<string> {
    const { url } = await this.#find(subscriptionId);
    const secret = generateSecret();
    await this.#endpoints.addSecret(subscriptionId, secret, url);
    return secret;
  }

  /**
   * Makes an ed25519 key pair (`v1a`) as signing secret; its private half is never shown. For receivers that should not be able to
   * sign; few of them verify it. Secrets that were there sign as well for 24 hours.
   *
   * @returns the public key, `whpk_…`, to hand to the receiver
   * @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND`
   */
  async createKeyPair(subscriptionId: string): Promise<string> {
    const { url } = await this.#find(subscriptionId);
    const { secret, publicKey } = await generateKeyPair();
    await this.#endpoints.addSecret(subscriptionId, secret, url);
    return publicKey;
  }

  /** @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND` */
  async endpoint(subscriptionId: string): Promise<WebhookEndpoint> {
    const { httpMethod: _method, headers: _headers, ...endpoint } = await this.#find(subscriptionId);
    return endpoint;
  }

  /**
   * Puts a subscription back into service that was deactivated; its deliveries that waited go out.
   *
   * @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND`
   */
  async reactivate(subscriptionId: string): Promise<void> {
    const found = await this.#endpoints.reactivate(subscriptionId);
    if (!found) throw subscriptionNotFound(subscriptionId);
  }

  /**
   * Sends `{"type":"webhook.ping", …}` to a subscription's URL now, signed, by the rules of deliveries. It counts neither as
   * a success nor as a failure.
   *
   * @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND`, `INPUT_INVALID` when it has no URL
   */
  async ping(subscriptionId: string): Promise<PingResult> {
    const { url, httpMethod: method, headers } = await this.#find(subscriptionId);
    if (url === null) {
      throw new TarefaError('INPUT_INVALID', `subscription ${JSON.stringify(subscriptionId)} has no URL`);
    }
    const timestamp = new Date();
    const body = JSON.stringify({
      type: 'webhook.ping',
      timestamp: timestamp.toISOString(),
      data: { subscriptionId },
    });
    const id = webhookId('ping', subscriptionId, String(timestamp.getTime()));
    let secrets: readonly string[] = [];
    try {
      secrets = await this.#endpoints.secretsOf(subscriptionId, url);
      const { ok, status, durationMs } = await this.#client.send({ url, method, headers, body, id, secrets });
      return { ok, status, durationMs, failure: undefined };
    } catch (error) {
      if (!(error instanceof WebhookFailure)) throw error;
      const failure = deliveryMessage({ method, url, outcome: error, headers, secrets });
      return { ok: false, status: undefined, durationMs: error.durationMs, failure };
    }
  }

  /**
   * Deliveries of a subscription, the newest first: an attempt each, with status, message (what was answered) and time.
   *
   * @throws {TarefaError} `INPUT_INVALID`
   */
  deliveries(
    subscriptionId: string,
    filter: DeliveryFilter = {},
    page: { readonly limit?: number | undefined; readonly after?: string | undefined } = {},
  ): Promise<TaskPage> {
    return this.#admin.list({ ...filter, subscriptionId }, page);
  }

  /**
   * Delivers once more what has failed for good: with all its attempts before it, and under the same `webhook-id`.
   *
   * @returns id of the new attempt
   * @throws {TarefaError} `TASK_STATE`, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  replay(deliveryId: string): Promise<string> {
    return this.#admin.retry(deliveryId);
  }

  /**
   * Delivers once more all deliveries of a subscription that have failed for good since then; those that were cancelled stay so. One that
   * the database does not let change stays failed, and a warning names it.
   *
   * @returns how many
   * @throws {TarefaError} `INPUT_INVALID`
   */
  async replayFailed(subscriptionId: string, { since }: { readonly since: Date }): Promise<number> {
    const run = this.#admin.bulk('retry');
    const plan = await run.plan({ subscriptionId, since, dead: false });
    let replayed = 0;
    for await (const some of run.run(plan)) replayed += some;
    for (const { id, message } of run.refused) {
      this.#events.emit('warning', {
        message: `Delivery ${id} could not be replayed: ${message}. It stays failed`,
      });
    }
    return replayed;
  }

  async #find(subscriptionId: string): Promise<EndpointRecord> {
    const endpoint = await this.#store.find(subscriptionId);
    if (endpoint) return endpoint;
    throw subscriptionNotFound(subscriptionId);
  }
}
