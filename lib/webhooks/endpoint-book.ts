import type { SqlHandle } from '../client/sql-handle.js';
import { pausedText } from '../coordination/ringer.js';
import type { QueueEvents } from '../queue.events.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import {
  addSecret,
  deactivate,
  forgetEndpoint,
  noteFailure,
  noteSuccess,
  readSecrets,
  subscriptionUrls,
  webhookHolds,
} from '../storage/postgres/statements/webhooks.js';
import type { Hold } from '../worker/pauses.js';
import { SecretBox } from './secret-box.js';
import type { ResolvedWebhookOptions } from './webhook-options.js';

/** What an {@link EndpointBook} works with. */
export interface EndpointBookParts {
  readonly handle: SqlHandle;
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

/** What the database knows of the endpoints of webhooks: whether they answer, whether they rest, and their secrets. */
export class EndpointBook {
  readonly #parts: EndpointBookParts;
  readonly #box: SecretBox;
  readonly #secrets = new Map<string, { readonly secrets: readonly string[]; readonly readAt: number }>();
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
    const rows = await this.#ask(webhookHolds, [this.#parts.options.timeoutMs + probeSlackMs]);
    for (const subscriptionId of before) this.#resting.delete(subscriptionId);
    return rows.map((row) => ({
      route: String(row['route']),
      forMs: row['for_ms'] == null ? undefined : Math.max(0, Number(row['for_ms'])),
    }));
  }

  /** Which of those subscriptions exist, and whether they have a URL. */
  async urlsOf(ids: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const rows = await this.#ask(subscriptionUrls, [ids]);
    return new Map(rows.map((row) => [String(row['id']), row['has_url'] === true]));
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

  async deactivate(subscriptionId: string, reason: string): Promise<void> {
    const rows = await this.#ask(deactivate, [subscriptionId, reason]);
    if (rows.length === 0) return;
    this.#parts.events.emit('webhook.deactivated', { subscriptionId, reason });
    await this.tell();
  }

  /**
   * Secrets that sign now, the newest first.
   *
   * @throws {TarefaError} `WEBHOOK_SECRET_INVALID`
   */
  async secretsOf(subscriptionId: string): Promise<readonly string[]> {
    const cached = this.#secrets.get(subscriptionId);
    if (cached && performance.now() - cached.readAt < secretsForMs) return cached.secrets;
    const rows = await this.#ask(readSecrets, [subscriptionId]);
    const secrets = rows.map((row) => this.#box.open(String(row['secret']), subscriptionId));
    if (this.#secrets.size >= mostCached) this.#secrets.clear();
    this.#secrets.set(subscriptionId, { secrets, readAt: performance.now() });
    return secrets;
  }

  /** Adds a secret; those before sign as well for 24 hours. */
  async addSecret(subscriptionId: string, secret: string): Promise<void> {
    await this.#ask(addSecret, [subscriptionId, this.#box.close(secret, subscriptionId), rotationMs]);
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
