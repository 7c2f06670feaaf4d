import type { StoredSecret } from '../endpoints.js';
import type { MemoryTable } from './memory-table.js';

/** A secret, and until when it signs (ms since 1970). */
interface KeptSecret extends StoredSecret {
  readonly until: number;
}

/** The signing secrets of endpoints, the newest first. */
export class MemorySecrets {
  readonly #table: MemoryTable;
  readonly #kept = new Map<string, readonly KeptSecret[]>();

  constructor(table: MemoryTable) {
    this.#table = table;
  }

  /** Endpoints that have a secret. */
  get endpoints(): readonly string[] {
    return [...this.#kept.keys()];
  }

  /** True when the endpoint has secrets, whether they still sign or not. */
  has(id: string): boolean {
    return this.#allOf(id).length > 0;
  }

  /** True when a secret of the endpoint signs. */
  sign(id: string): boolean {
    return this.#signing(id).length > 0;
  }

  /** Those that sign. One without an origin is for wherever the subscription leads. */
  of(id: string): readonly StoredSecret[] {
    const url = this.#table.subscriptions.get(id)?.url ?? null;
    return this.#signing(id).map(({ secret, origin }) => ({ secret, origin: origin ?? url }));
  }

  add(id: string, secret: StoredSecret, othersMs: number): void {
    const untilMs = this.#table.nowMs + othersMs;
    const others = this.#signing(id).map((one) => ({ ...one, until: Math.min(one.until, untilMs) }));
    this.#kept.set(id, [{ ...secret, until: Infinity }, ...others]);
  }

  move(id: string, from: string | null, to: StoredSecret): void {
    const signing = this.#signing(id);
    if (signing.length === 0) return;
    const isThere = signing.some(({ origin }) => (origin ?? from ?? to.origin) === to.origin);
    const kept = this.#allOf(id).map((one) => ({ ...one, origin: one.origin ?? from ?? to.origin }));
    const isNew = to.origin !== null && !isThere;
    this.#kept.set(id, isNew ? [{ ...to, until: Infinity }, ...kept] : kept);
  }

  forget(id: string): void {
    this.#kept.delete(id);
  }

  #allOf(id: string): readonly KeptSecret[] {
    return this.#kept.get(id) ?? [];
  }

  #signing(id: string): readonly KeptSecret[] {
    return this.#allOf(id).filter(({ until }) => until > this.#table.nowMs);
  }
}
