import type { QueueEvents } from '../events.js';
import { mostRestMs, type EndpointStore, type RestRules, type PausedRoute } from '../storage/endpoints.js';
import { SecretBox } from './secret-box.js';
import { generateSecret } from './signing-secret.js';
import { WebhookFailure } from './webhook-failure.js';
import type { ResolvedWebhookOptions } from '../options/webhook-options.js';
import { originOf } from '../values/origin.js';

type EndpointOptions = Pick<
  ResolvedWebhookOptions,
  'circuit' | 'deactivateAfterDays' | 'timeoutMs' | 'secretKeys'
>;

/** How often a success is written of an endpoint that always answers. */
const successEveryMs = 60_000;
/** Beside the request itself a probe may wait for a slot and a connection. */
const probeSlackMs = 10_000;
/** Secrets are read again after this time: a rotation has a day. */
const secretsForMs = 5_000;
/** How long secrets sign on after a new one was added. */
export const rotationMs = 24 * 3_600_000;
const mostCached = 10_000;
const dayMs = 86_400_000;
/** Rests that other processes begin count here too. */
const neverRests: RestRules = { failures: null, restMs: 0, longestRestMs: mostRestMs };

/** A signing secret, and the origin that it is for. */
interface EndpointSecret {
  readonly secret: string;
  readonly origin: string | null;
}

/** Keeps what is known of the endpoints of webhooks: whether they answer, whether they rest, and their secrets. */
export class EndpointRegistry {
  readonly #store: EndpointStore;
  readonly #events: QueueEvents;
  readonly #options: EndpointOptions;
  /** Tells workers that routes are held, or free again; a worker that does not hear it finds out at its next poll. */
  readonly #tell: () => Promise<void>;
  readonly #box: SecretBox;
  readonly #secrets = new Map<
    string,
    { readonly secrets: readonly EndpointSecret[]; readonly readAt: number }
  >();
  /** Endpoints that rest since a failure here: known before the next look at the table, which then counts. */
  readonly #resting = new Set<string>();
  /** Endpoints whose last answer here was a success. */
  readonly #trusted = new Set<string>();

  constructor(
    store: EndpointStore,
    events: QueueEvents,
    options: EndpointOptions,
    tell: () => Promise<void>,
  ) {
    this.#store = store;
    this.#events = events;
    this.#options = options;
    this.#tell = tell;
    this.#box = new SecretBox(options.secretKeys);
  }

  /** True while its last request here was a success. */
  trusts(subscriptionId: string): boolean {
    return this.#trusted.has(subscriptionId);
  }

  /** True while it rests because of a failure here. */
  rests(subscriptionId: string): boolean {
    return this.#resting.has(subscriptionId);
  }

  /** Routes whose deliveries wait. Where a rest is over, this worker may be the one to probe. */
  async pausedRoutes(): Promise<readonly PausedRoute[]> {
    // A rest that begins while this is asked may not be in the answer.
    const before = [...this.#resting];
    const { longestRestMs } = this.#options.circuit ?? neverRests;
    const paused = await this.#store.pausedRoutes(this.#options.timeoutMs + probeSlackMs, longestRestMs);
    for (const subscriptionId of before) this.#resting.delete(subscriptionId);
    return paused;
  }

  /** Which of those subscriptions exist, and whether they have a URL. */
  haveUrls(ids: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    return this.#store.haveUrls(ids);
  }

  async succeeded(subscriptionId: string): Promise<void> {
    if (this.#trusted.size >= mostCached) this.#trusted.clear();
    this.#trusted.add(subscriptionId);
    if (!(await this.#store.noteSuccess(subscriptionId, successEveryMs))) return;
    this.#events.emit('webhook.closed', { subscriptionId });
    await this.#tell();
  }

  /** Its request, which took `tookMs`, has failed. */
  async failed(subscriptionId: string, tookMs: number): Promise<void> {
    this.#trusted.delete(subscriptionId);
    const { circuit, deactivateAfterDays } = this.#options;
    const noted = await this.#store.noteFailure(subscriptionId, tookMs, circuit ?? neverRests);
    if (noted.opened && noted.restsForMs > 0) {
      this.#resting.add(subscriptionId);
      const { failures, restsForMs: forMs } = noted;
      this.#events.emit('webhook.opened', { subscriptionId, failures, forMs });
      await this.#tell();
    }
    if (deactivateAfterDays !== undefined && noted.failingForMs > deactivateAfterDays * dayMs) {
      await this.deactivate(subscriptionId, `no success for ${deactivateAfterDays} days`);
    }
  }

  /** @param url where that was said: a subscription that leads elsewhere by now stays. Default: wherever it leads */
  async deactivate(subscriptionId: string, reason: string, url?: string): Promise<void> {
    if (!(await this.#store.deactivate(subscriptionId, reason, url))) return;
    this.#events.emit('webhook.deactivated', { subscriptionId, reason });
    await this.#tell();
  }

  /** Puts a subscription back into service; false when there is none. */
  async reactivate(subscriptionId: string): Promise<boolean> {
    const found = await this.#store.reactivate(subscriptionId);
    if (found) await this.#tell();
    return found;
  }

  /**
   * Secrets that sign now what is sent to a URL, the newest first. Each is for one origin: what signs for another one could be
   * used there. A subscription that has secrets sends nothing unsigned.
   *
   * @throws {WebhookFailure} `refused-request` when it has secrets, and none for that origin
   * @throws {TarefaError} `WEBHOOK_SECRET_INVALID`
   */
  async secretsOf(subscriptionId: string, url: string): Promise<readonly string[]> {
    const origin = originOf(url);
    const cached = this.#secrets.get(subscriptionId);
    const isFresh = cached && performance.now() - cached.readAt < secretsForMs;
    let own = isFresh ? secretsFor(cached.secrets, origin) : [];
    // It may lead elsewhere since they were read.
    if (!isFresh || (own.length === 0 && cached.secrets.length > 0)) {
      const secrets = await this.#readSecrets(subscriptionId);
      own = secretsFor(secrets, origin);
      if (own.length === 0 && secrets.length > 0) {
        throw new WebhookFailure(
          'refused-request',
          `its deliveries are signed, but the subscription has no secret for ${origin ?? 'that URL'}: create one with webhooks.createSecret()`,
        );
      }
    }
    return own;
  }

  async #readSecrets(subscriptionId: string): Promise<readonly EndpointSecret[]> {
    const stored = await this.#store.secrets(subscriptionId);
    const secrets = stored.map(({ secret, origin }) => ({
      secret: this.#box.open(secret, subscriptionId),
      origin: originOf(origin),
    }));
    if (this.#secrets.size >= mostCached) this.#secrets.clear();
    this.#secrets.set(subscriptionId, { secrets, readAt: performance.now() });
    return secrets;
  }

  /** Adds a secret for where the subscription leads; those before sign as well for 24 hours. */
  async addSecret(subscriptionId: string, secret: string, url: string | null): Promise<void> {
    const closed = { secret: this.#box.close(secret, subscriptionId), origin: originOf(url) };
    await this.#store.addSecret(subscriptionId, closed, rotationMs);
    this.#secrets.delete(subscriptionId);
  }

  /**
   * A subscription is about to lead to another origin: its secrets stay with the old one, and a new secret, unknown
   * until one is created, signs for the new one.
   */
  async moveSecrets(subscriptionId: string, from: string | null, to: string | null): Promise<void> {
    const closed = { secret: this.#box.close(generateSecret(), subscriptionId), origin: to };
    await this.#store.moveSecrets(subscriptionId, from, closed);
    this.#secrets.delete(subscriptionId);
  }

  /** Forgets an endpoint with all that was known of it. */
  async forget(subscriptionId: string): Promise<void> {
    await this.#store.forget(subscriptionId);
    this.#secrets.delete(subscriptionId);
    this.#trusted.delete(subscriptionId);
  }
}

function secretsFor(secrets: readonly EndpointSecret[], origin: string | null): readonly string[] {
  return secrets.filter((one) => one.origin === origin).map(({ secret }) => secret);
}
