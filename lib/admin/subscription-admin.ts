import { readText } from '../client/task-input.js';
import { TarefaError } from '../errors.js';
import type { Some } from '../values/without-unset.js';
import { readFields } from '../values/read-fields.js';
import { shownValue } from '../values/shown-value.js';
import { columnLength } from '../storage/columns.js';
import type { EndpointStore } from '../storage/endpoints.js';
import type { SubscriptionRecord, SubscriptionStore, SubscriptionValues } from '../storage/subscriptions.js';
import { originOf } from '../values/origin.js';
import { secretHeaders } from '../values/secret-headers.js';
import {
  fieldNames,
  readId,
  valuesOf,
  type GivenSubscription,
  type SubscriptionInput,
} from './subscription-input.js';

/** What webhooks have to do with subscriptions. */
export interface WebhookKeeper {
  /** Throws what is wrong with a URL or its headers, before they are stored. */
  check(subscription: Pick<SubscriptionInput, 'url' | 'headers'>): void;
  /**
   * A subscription is about to lead to another origin (null: to none): what signed for the old one must not sign for it.
   * Without this a subscription that is signed cannot be changed so.
   */
  move?(subscriptionId: string, from: string | null, to: string | null): Promise<void>;
  /** A subscription is gone, and its secrets with it: another one may get its id. */
  forget(subscriptionId: string): Promise<void>;
}

/** Reads and writes a queue's subscriptions. Deliveries that were made stay what they are. */
export class SubscriptionAdmin {
  readonly #subscriptions: SubscriptionStore;
  readonly #endpoints: Pick<EndpointStore, 'isSigned'>;
  #webhooks: WebhookKeeper | undefined;

  /** @hidden */
  constructor(subscriptions: SubscriptionStore, endpoints: Pick<EndpointStore, 'isSigned'>) {
    this.#subscriptions = subscriptions;
    this.#endpoints = endpoints;
  }

  /** @internal Where webhooks are delivered. */
  attach(webhooks: WebhookKeeper): void {
    this.#webhooks = webhooks;
  }

  /** All of them, or those of one topic, by id. */
  async list(options: { readonly topic?: string | undefined } = {}): Promise<readonly SubscriptionRecord[]> {
    const { topic } = readFields('the options', options, ['topic']);
    return this.#subscriptions.list(readText('topic', topic, columnLength.topic) ?? undefined);
  }

  async find(id: string): Promise<SubscriptionRecord | undefined> {
    return this.#subscriptions.find(readId(id));
  }

  /**
   * Adds a subscription.
   *
   * @throws {TarefaError} `INPUT_INVALID`; `SUBSCRIPTION_EXISTS`
   */
  async add(input: SubscriptionInput): Promise<SubscriptionRecord> {
    const given = readFields('a subscription', input, fieldNames);
    const added = await this.#subscriptions.add(this.#valuesOf(given));
    if (added) return added;
    throw new TarefaError(
      'SUBSCRIPTION_EXISTS',
      `subscription '${String(given.id)}' already exists: update it instead`,
    );
  }

  /**
   * Changes what is given of a subscription; the rest stays. What was a secret between the old URL and this queue is none of a
   * new origin's (scheme, host and port) business: its headers have to be given again then, and its deliveries are signed with
   * a new secret, which `QueueWebhooks.createSecret()` makes known.
   *
   * @throws {TarefaError} `INPUT_INVALID`; `SUBSCRIPTION_NOT_FOUND`
   */
  async update(id: string, changes: Some<Omit<SubscriptionInput, 'id'>>): Promise<SubscriptionRecord> {
    const given = Object.fromEntries(
      Object.entries(readFields('what changes', changes, fieldNames)).filter(
        ([, value]) => value !== undefined,
      ),
    ) as GivenSubscription;
    const present = await this.find(id);
    if (!present) throw subscriptionNotFound(id);
    const next = { ...present, ...given, id };
    const values = this.#valuesOf(next, { isNew: 'url' in given || 'headers' in given });
    if ('url' in given) await this.#leadTo(next.url as string | null, present, 'headers' in given);
    const changed = await this.#subscriptions.change(values);
    if (!changed) throw subscriptionNotFound(id);
    return changed;
  }

  /** @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND` */
  async remove(id: string): Promise<void> {
    if (!(await this.#subscriptions.remove(readId(id)))) throw subscriptionNotFound(id);
    await this.#webhooks?.forget(id);
  }

  /** Before it is stored: until then the old origin is told what it was told so far. */
  async #leadTo(url: string | null, present: SubscriptionRecord, hasNewHeaders: boolean): Promise<void> {
    const [from, to] = [originOf(present.url), originOf(url)];
    if (from === to) return;
    const secret = secretHeaders(present.headers);
    if (to !== null && secret.length > 0 && !hasNewHeaders) {
      throw new TarefaError(
        'INPUT_INVALID',
        `the new URL of ${shownValue(present.id)} would send the stored headers ${secret.join(', ')}, which may be keys, to ${to}` +
          `${from === null ? '' : ` instead of ${from}`}: give all headers together with the URL, or null for none`,
      );
    }
    if (this.#webhooks?.move) return this.#webhooks.move(present.id, from, to);
    if (to === null || !(await this.#endpoints.isSigned(present.id))) return;
    throw new TarefaError(
      'INPUT_INVALID',
      `deliveries of ${shownValue(present.id)} are signed, and ${to} needs its own secret: change the URL in a process with the option webhooks`,
    );
  }

  /** Checks a webhook only where it changes: one that is stored and cannot be sent does not block other changes. */
  #valuesOf(input: GivenSubscription, { isNew } = { isNew: true }): SubscriptionValues {
    const values = valuesOf(input);
    if (isNew && typeof input.url === 'string') {
      try {
        this.#webhooks?.check({
          url: input.url,
          headers: (input.headers as SubscriptionInput['headers']) ?? null,
        });
      } catch (error) {
        throw new TarefaError('INPUT_INVALID', `the webhook cannot be sent: ${(error as Error).message}`, {
          cause: error,
        });
      }
    }
    return values;
  }
}

/** What is said of a subscription that is not there. */
export function subscriptionNotFound(id: string): TarefaError {
  return new TarefaError('SUBSCRIPTION_NOT_FOUND', `subscription ${shownValue(id)} not found`);
}
