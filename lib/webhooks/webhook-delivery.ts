import { RetryIn, UnrecoverableError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { Handler } from '../subscribers/handler-registry.js';
import type { Task, TaskContext } from '../task.js';
import { deliveryMessage } from './delivery-message.js';
import type { DeliveryTargets } from './delivery-target.js';
import type { EndpointRegistry } from './endpoint-registry.js';
import { retryAfterMs } from '../values/retry-after.js';
import { standardAttempts, standardDelayMs } from './standard-schedule.js';
import type { WebhookAnswer } from './webhook-answer.js';
import type { WebhookClient } from './webhook-client.js';
import { WebhookFailure } from './webhook-failure.js';
import { webhookId } from './webhook-id.js';
import type { ResolvedWebhookOptions } from '../options/webhook-options.js';

export interface WebhookDeliveryParts {
  readonly client: Pick<WebhookClient, 'send'>;
  readonly endpoints: EndpointRegistry;
  readonly targets: DeliveryTargets;
  readonly events: QueueEvents;
  readonly options: Pick<ResolvedWebhookOptions, 'endpointConcurrency' | 'schedule'>;
  /** The queue's, in minutes: what a receiver's `Retry-After` is at least. */
  readonly retryIntervalMinutes: number;
}

/** The receiver wants no further deliveries for this subscription. */
const gone = 410;
/** The receiver wants no further attempt of this delivery. */
const abortMessage = 'abort-message';

/** Delivers for subscriptions: one signed request per attempt. */
export class WebhookDelivery {
  readonly #parts: WebhookDeliveryParts;
  readonly #handlers = new Map<string, Handler>();

  constructor(parts: WebhookDeliveryParts) {
    this.#parts = parts;
  }

  /** The handler of a subscription's deliveries; always the same one. */
  handlerOf(subscriptionId: string): Handler {
    let handler = this.#handlers.get(subscriptionId);
    if (!handler) this.#handlers.set(subscriptionId, (handler = this.#make(subscriptionId)));
    return handler;
  }

  #make(subscriptionId: string): Handler {
    const { endpoints, options } = this.#parts;
    const isStandard = options.schedule === 'standard';
    return {
      name: `the webhook of '${subscriptionId}'`,
      exclusive: true,
      rules: {
        get concurrency() {
          if (endpoints.rests(subscriptionId)) return 0;
          return endpoints.trusts(subscriptionId) ? options.endpointConcurrency : 1;
        },
        timeoutMs: undefined,
        maxAttempts: isStandard ? standardAttempts : undefined,
        retryDelay: isStandard ? (attempt) => standardDelayMs(attempt) ?? 0 : undefined,
        payload: 'stored',
        grouped: false,
        lane: undefined,
        isolate: undefined,
      },
      invoke: (payload, ctx) => this.#deliver(payload as string | null, ctx),
    };
  }

  /** The delivery is for the subscription that its row names. */
  async #deliver(stored: string | null, { task, signal }: TaskContext): Promise<string> {
    const { endpoints, client, targets } = this.#parts;
    const { url, method, headers, body } = await targets.of(task, stored);
    const id = task.subscriptionId ?? '';
    const secrets = await endpoints.secretsOf(id, url);
    const begunAt = performance.now();
    const outcome = await client
      .send({ url, method, headers, body, id: webhookId(task.key), secrets }, signal)
      .catch((error: unknown) => {
        if (error instanceof WebhookFailure) return error;
        throw error;
      });
    const message = deliveryMessage({ method, url, outcome, headers, secrets });
    if (!(outcome instanceof WebhookFailure) && outcome.ok) {
      await this.#note(() => endpoints.succeeded(id));
      return message;
    }
    if (outcome instanceof WebhookFailure && outcome.kind === 'aborted') throw new Error(message);
    await this.#note(() => endpoints.failed(id, performance.now() - begunAt));
    if (!(outcome instanceof WebhookFailure)) await this.#obey(outcome, { url, task, message });
    throw new Error(message);
  }

  /** @throws what the receiver wants to come of it */
  async #obey(
    { status, headers }: WebhookAnswer,
    {
      url,
      task: { subscriptionId, attempt },
      message,
    }: { readonly url: string; readonly task: Task; readonly message: string },
  ): Promise<void> {
    if (status === gone) {
      // Where the subscription led when this was published may be gone, and where it leads now there.
      await this.#note(() =>
        this.#parts.endpoints.deactivate(subscriptionId ?? '', 'its endpoint answered 410 (gone)', url),
      );
      throw new UnrecoverableError(message);
    }
    if (headers['webhook-delivery'] === abortMessage) throw new UnrecoverableError(message);
    const delayMs = retryAfterMs(headers['retry-after'], { baseMs: this.#delayMs(attempt) });
    if (delayMs !== undefined) throw new RetryIn(delayMs, message);
  }

  /** What is known of an endpoint is a help; the outcome of the attempt is what counts. */
  async #note(write: () => Promise<void>): Promise<void> {
    await write().catch((error: unknown) => {
      this.#parts.events.emit('warning', {
        message: `could not save the state of a webhook endpoint: ${String(error)}`,
      });
    });
  }

  /** What would be waited without a word from the receiver. */
  #delayMs(attempt: number): number {
    const { options, retryIntervalMinutes } = this.#parts;
    if (options.schedule === 'standard') return standardDelayMs(attempt) ?? 0;
    return attempt * retryIntervalMinutes * 60_000;
  }
}
