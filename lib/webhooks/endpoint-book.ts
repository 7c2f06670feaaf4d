import type { SqlHandle } from '../storage/sql-handle.js';
import type { AskTables } from '../coordination/lost-workers.js';
import { pausedText } from '../coordination/ringer.js';
import type { QueueEvents } from '../events.js';
import { readBoolean, readText } from '../storage/columns.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { readTextBytes } from '../storage/postgres/readable-rows.js';
import {
  addSecret,
  deactivate,
  forgetEndpoint,
  moveSecrets,
  noteFailure,
  noteSuccess,
  readSecrets,
  subscriptionUrls,
  webhookHolds,
} from '../storage/postgres/statements/webhooks.js';
import type { Hold } from '../worker/claiming/pauses.js';
import { SecretBox } from './secret-box.js';
import { generateSecret } from './signing-secret.js';
import { WebhookFailure } from './webhook-failure.js';
import type { ResolvedWebhookOptions } from '../options/webhook-options.js';
import { originOf } from './webhook-url.js';

/** What an {@link EndpointBook} works with. */
export interface EndpointBookParts {
  readonly handle: SqlHandle;
  /** By the connection that claims, for what a claim waits for: another one would have to be opened, or be free. */
  readonly ask: AskTables;
  readonly tables: QueueTables;
  /** Channel that the queue's workers listen on. */
  readonly channel: string;
  readonly events: QueueEvents;
  readonly options: Pick<
    ResolvedWebhookOptions,
    'circuit' | 'deactivateAfterDays' | 'timeoutMs' | 'secretKeys'
  >;
}

/** An endpoint that always answers is written down so often. */
const successEveryMs = 60_000;
/** Beside the request itself a probe may wait for a slot and a connection. */
const probeSlackMs = 10_000;
/** Secrets are read anew after so many ms: a rotation has a day. */
const secretsForMs = 5_000;
const rotationMs = 24 * 3_600_000;
const mostCached = 10_000;
const dayMs = 86_400_000;

/** A signing secret, and the origin that it is for. */
interface EndpointSecret {
  readonly secret: string;
  readonly origin: string | null;
}

/** What the database knows of the endpoints of webhooks: whether they answer, whether they rest, and their secrets. */
export class EndpointBook {
  readonly #parts: EndpointBookParts;
  readonly #box: SecretBox;
  readonly #secrets = new Map<
    string,
    { readonly secrets: readonly EndpointSecret[]; readonly readAt: number }
  >();
  /** Endpoints that rest since a failure here: known before the next look at the table, which then counts. */
  readonly #resting = new Set<string>();
  /** Endpoints whose last answer here was a success. */
  readonly #trusted = new Set<string>();

  constructor(parts: EndpointBookParts) {
    this.#parts = parts;
    this.#box = new SecretBox(parts.options.secretKeys);
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
  async holds(): Promise<readonly Hold[]> {
    // A rest that begins while this is asked may not be in the answer.
    const before = [...this.#resting];
    const { ask, tables, options } = this.#parts;
    const rows = await ask(webhookHolds(tables), [options.timeoutMs + probeSlackMs]);
    for (const subscriptionId of before) this.#resting.delete(subscriptionId);
    return rows.map((row) => ({
      route: readTextBytes(row['route'], row['encoding']),
      forMs: row['for_ms'] == null ? undefined : Math.max(0, Number(row['for_ms'])),
    }));
  }

  /** Which of those subscriptions exist, and whether they have a URL. */
  async urlsOf(ids: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const { ask, tables } = this.#parts;
    const rows = await ask(subscriptionUrls(tables), [ids]);
    return new Map(rows.map((row) => [String(row['id']), readBoolean(row['has_url'])]));
  }

  async succeeded(subscriptionId: string): Promise<void> {
    if (this.#trusted.size >= mostCached) this.#trusted.clear();
    this.#trusted.add(subscriptionId);
    const [row] = await this.#ask(noteSuccess, [subscriptionId, successEveryMs]);
    if (row?.['closed'] !== true) return;
    this.#parts.events.emit('webhook.closed', { subscriptionId });
    await this.tell();
  }

  /** Its request, which took `tookMs`, has failed. */
  async failed(subscriptionId: string, tookMs: number): Promise<void> {
    this.#trusted.delete(subscriptionId);
    const { circuit, deactivateAfterDays } = this.#parts.options;
    const { failures: most = null, restMs = 0, longestRestMs = 0 } = circuit ?? {};
    const [row] = await this.#ask(noteFailure, [subscriptionId, most, restMs, longestRestMs, tookMs]);
    const failures = Number(row?.['failures'] ?? 0);
    const forMs = Number(row?.['open_ms'] ?? 0);
    if (row?.['opened'] === true && forMs > 0) {
      this.#resting.add(subscriptionId);
      this.#parts.events.emit('webhook.opened', { subscriptionId, failures, forMs });
      await this.tell();
    }
    const failingMs = Number(row?.['failing_ms'] ?? 0);
    if (deactivateAfterDays !== undefined && failingMs > deactivateAfterDays * dayMs) {
      await this.deactivate(subscriptionId, `no success for ${deactivateAfterDays} days`);
    }
  }

  /** @param url where that was said: a subscription that leads elsewhere by now stays. Default: wherever it leads */
  async deactivate(subscriptionId: string, reason: string, url?: string): Promise<void> {
    const rows = await this.#ask(deactivate, [subscriptionId, reason, url ?? null]);
    if (rows.length === 0) return;
    this.#parts.events.emit('webhook.deactivated', { subscriptionId, reason });
    await this.tell();
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
          `its deliveries are signed, and none of its secrets is for ${origin ?? 'that URL'}: webhooks.createSecret() makes one`,
        );
      }
    }
    return own;
  }

  async #readSecrets(subscriptionId: string): Promise<readonly EndpointSecret[]> {
    const rows = await this.#ask(readSecrets, [subscriptionId]);
    const secrets = rows.map((row) => ({
      secret: this.#box.open(String(row['secret']), subscriptionId),
      origin: originOf(readText(row['origin'])),
    }));
    if (this.#secrets.size >= mostCached) this.#secrets.clear();
    this.#secrets.set(subscriptionId, { secrets, readAt: performance.now() });
    return secrets;
  }

  /** Adds a secret for where the subscription leads; those before sign as well for 24 hours. */
  async addSecret(subscriptionId: string, secret: string, url: string | null): Promise<void> {
    const closed = this.#box.close(secret, subscriptionId);
    await this.#ask(addSecret, [subscriptionId, closed, rotationMs, originOf(url)]);
    this.#secrets.delete(subscriptionId);
  }

  /**
   * A subscription is about to lead to another origin: its secrets stay with the old one, and a new secret, which nobody knows
   * until one is created, signs for the new one.
   */
  async moveSecrets(subscriptionId: string, from: string | null, to: string | null): Promise<void> {
    const closed = this.#box.close(generateSecret(), subscriptionId);
    await this.#ask(moveSecrets, [subscriptionId, from, to, closed]);
    this.#secrets.delete(subscriptionId);
  }

  /** Forgets an endpoint with all that was known of it. */
  async forget(subscriptionId: string): Promise<void> {
    await this.#ask(forgetEndpoint, [subscriptionId]);
    this.#secrets.delete(subscriptionId);
    this.#trusted.delete(subscriptionId);
  }

  /** Workers hear that routes are held, or free again; one that does not hears of it at its next poll. */
  async tell(): Promise<void> {
    await this.#parts.handle.query('select pg_notify($1::text, $2::text)', [this.#parts.channel, pausedText]);
  }

  async #ask(text: (tables: QueueTables) => string, values: unknown[]): Promise<Record<string, unknown>[]> {
    return (await this.#parts.handle.query(text(this.#parts.tables), values)).rows;
  }
}

function secretsFor(secrets: readonly EndpointSecret[], origin: string | null): readonly string[] {
  return secrets.filter((one) => one.origin === origin).map(({ secret }) => secret);
}
