import { readJson } from '../../columns.js';
import type { StoredSecret } from '../../endpoints.js';

/** A secret as the table has it. */
interface StoredEntry {
  readonly secret?: unknown;
  readonly origin?: string | undefined;
  /** Until when it signs; undefined: without an end. */
  readonly until?: string | undefined;
}

/** The secrets of an endpoint, the newest first, as they stand at a time of the server's. */
export class WebhookSecrets {
  readonly #entries: readonly StoredEntry[];
  readonly #now: number;

  /** JSON other than a list, written by hand, holds no secrets. */
  constructor(json: string | null | undefined, now: string | null | undefined) {
    const list: unknown = readJson(json);
    this.#entries = Array.isArray(list) ? (list as unknown[]).map(readEntry) : [];
    this.#now = Date.parse(now ?? '');
  }

  /** How many there are, whether they sign or not. */
  get count(): number {
    return this.#entries.length;
  }

  /** True when one of them signs. */
  get isSigning(): boolean {
    return this.#entries.some((one) => this.#signs(one));
  }

  /** Those that sign. @param url where the subscription leads: for secrets that were made for no origin */
  signing(url: string | null): readonly StoredSecret[] {
    return this.#entries
      .filter((one) => this.#signs(one))
      .map(({ secret, origin }) => ({ secret: String(secret), origin: origin ?? url }));
  }

  /** With a new one; those before sign for a while. As JSON. */
  with({ secret, origin }: StoredSecret, othersMs: number): string {
    const end = this.#now + othersMs;
    const others = this.#entries
      .filter((one) => this.#signs(one))
      .map((one) => ({ ...one, until: new Date(Math.min(endOf(one), end)).toISOString() }));
    return JSON.stringify([entryOf(secret, origin), ...others]);
  }

  /**
   * For an endpoint that leads to another origin: those without an origin are for the old one, and the new origin has one.
   * As JSON.
   */
  moved(from: string | null, { secret, origin: to }: StoredSecret): string {
    const isKnown =
      to === null || this.#entries.some((one) => this.#signs(one) && (one.origin ?? from ?? to) === to);
    const old = from ?? to ?? undefined;
    const kept = this.#entries.map((one) => (old === undefined ? one : { origin: old, ...one }));
    return JSON.stringify([...(isKnown ? [] : [entryOf(secret, to)]), ...kept]);
  }

  #signs(one: StoredEntry): boolean {
    return endOf(one) > this.#now;
  }
}

/** Text other than a time counts as over. */
function endOf({ until }: StoredEntry): number {
  if (until === undefined) return Infinity;
  const end = Date.parse(until);
  return Number.isNaN(end) ? -Infinity : end;
}

function entryOf(secret: string, origin: string | null): StoredEntry {
  return { secret, ...(origin === null ? {} : { origin }) };
}

function readEntry(json: unknown): StoredEntry {
  const { secret, origin, until } = (json ?? {}) as Readonly<Record<string, unknown>>;
  return {
    secret,
    ...(typeof origin === 'string' ? { origin } : {}),
    ...(until == null ? {} : { until: typeof until === 'string' ? until : 'over' }),
  };
}
