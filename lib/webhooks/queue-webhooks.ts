import type { QueueAdmin } from '../admin/queue-admin.js';
import type { TaskPage } from '../admin/task-answers.js';
import { subscriptionNotFound } from '../admin/subscription-admin.js';
import { TarefaError } from '../errors.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import { readDate, readText } from '../storage/columns.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { queryReadable } from '../storage/postgres/readable-rows.js';
import { replayFailed } from '../storage/postgres/statements/admin.js';
import { reactivate, readEndpoint } from '../storage/postgres/statements/webhooks.js';
import type { TaskStatus } from '../task.js';
import { deliveryMessage } from './delivery-message.js';
import type { EndpointBook } from './endpoint-book.js';
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

/** What became of a test ping. The answer's body is not told: whoever chose the URL may not be who may read it. */
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

/** What {@link QueueWebhooks} work with. */
export interface QueueWebhooksParts {
  readonly handle: SqlHandle;
  readonly tables: QueueTables;
  readonly admin: QueueAdmin;
  readonly book: EndpointBook;
  readonly client: WebhookClient;
}

/** Deliveries replayed by one statement. */
const replayPage = 1_000;

/**
 * What somebody who runs webhooks wants to know and do.
 *
 * @example
 * constructor(private readonly webhooks: QueueWebhooks) {}
 * const secret = await this.webhooks.createSecret('crm'); // shown once: hand it to the receiver
 */
export class QueueWebhooks {
  readonly #parts: QueueWebhooksParts;

  /** @hidden */
  constructor(parts: QueueWebhooksParts) {
    this.#parts = parts;
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
    const { url } = await this.#row(subscriptionId);
    const secret = generateSecret();
    await this.#parts.book.addSecret(subscriptionId, secret, readText(url));
    return secret;
  }

  /**
   * The same with an ed25519 key pair (`v1a`), whose private half nobody sees: for receivers that should not be able to sign.
   * Few of them verify it.
   *
   * @returns the public key, `whpk_…`, to hand to the receiver
   * @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND`
   */
  async createKeyPair(subscriptionId: string): Promise<string> {
    const { url } = await this.#row(subscriptionId);
    const { secret, publicKey } = await generateKeyPair();
    await this.#parts.book.addSecret(subscriptionId, secret, readText(url));
    return publicKey;
  }

  /** @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND` */
  async endpoint(subscriptionId: string): Promise<WebhookEndpoint> {
    const row = await this.#row(subscriptionId);
    return {
      subscriptionId,
      url: readText(row['url']),
      active: row['ativo'] === true,
      failures: Number(row['failures']),
      failingSince: readDate(row['failing_since']),
      lastSuccessAt: readDate(row['last_success_at']),
      restsUntil: readDate(row['open_until']),
      deactivatedAt: readDate(row['deactivated_at']),
      deactivatedFor: readText(row['deactivated_for']),
      signed: Number(row['secrets']) > 0,
    };
  }

  /**
   * Puts a subscription back into service that was deactivated; its deliveries that waited go out.
   *
   * @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND`
   */
  async reactivate(subscriptionId: string): Promise<void> {
    const { handle, tables, book } = this.#parts;
    const { rows } = await handle.query(reactivate(tables), [subscriptionId]);
    if (rows.length === 0) throw subscriptionNotFound(subscriptionId);
    await book.tell();
  }

  /**
   * Sends `{"type":"webhook.ping", …}` to a subscription's URL now, signed, by the rules of deliveries. It counts neither as
   * a success nor as a failure.
   *
   * @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND`, `INPUT_INVALID` when it has no URL, `WEBHOOK_PACKAGE_MISSING`
   */
  async ping(subscriptionId: string): Promise<PingResult> {
    const { book, client } = this.#parts;
    const row = await this.#row(subscriptionId);
    const url = readText(row['url']);
    if (url === null) {
      throw new TarefaError('INPUT_INVALID', `subscription ${JSON.stringify(subscriptionId)} has no URL`);
    }
    const method = readText(row['http_method']);
    const headers = JSON.parse(readText(row['headers']) ?? 'null') as Record<string, string> | null;
    const timestamp = new Date();
    const body = JSON.stringify({
      type: 'webhook.ping',
      timestamp: timestamp.toISOString(),
      data: { subscriptionId },
    });
    const id = webhookId('ping', subscriptionId, String(timestamp.getTime()));
    let secrets: readonly string[] = [];
    try {
      secrets = await book.secretsOf(subscriptionId, url);
      const { ok, status, durationMs } = await client.send({ url, method, headers, body, id, secrets });
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
    return this.#parts.admin.list({ ...filter, subscriptionId }, page);
  }

  /**
   * Delivers once more what has failed for good: with all its attempts before it, and under the same `webhook-id`.
   *
   * @returns id of the new attempt
   * @throws {TarefaError} `TASK_STATE`, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  replay(deliveryId: string): Promise<string> {
    return this.#parts.admin.retry(deliveryId);
  }

  /**
   * The same with all deliveries of a subscription that have failed for good since then.
   *
   * @returns how many
   */
  async replayFailed(subscriptionId: string, { since }: { readonly since: Date }): Promise<number> {
    const { handle, tables } = this.#parts;
    const values = [subscriptionId, since.toISOString(), replayPage];
    for (let replayed = 0; ;) {
      const { rows } = await handle.query(replayFailed(tables), values);
      replayed += rows.length;
      if (rows.length < replayPage) return replayed;
    }
  }

  async #row(subscriptionId: string): Promise<Record<string, unknown>> {
    const { handle, tables } = this.#parts;
    const { rows } = await queryReadable(handle, readEndpoint(tables), [subscriptionId]);
    if (rows[0]) return rows[0];
    throw subscriptionNotFound(subscriptionId);
  }
}
