import { createHash, timingSafeEqual } from 'node:crypto';
import type { SqlHandle } from '../storage/sql-handle.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { readSealKey } from '../storage/postgres/statements/webhooks.js';
import type { Task } from '../task.js';

/** What {@link DeliverySeal} works with. */
export interface DeliverySealParts {
  readonly handle: SqlHandle;
  readonly tables: Pick<QueueTables, 'seal'>;
}

/** A key of HMAC-SHA256, combined with its two constants. */
interface SealKey {
  readonly inner: Uint8Array;
  readonly outer: Uint8Array;
  readonly readAt: number;
}

/** What fan-out puts before the last brace of an envelope, and that brace. */
const sealEnding = /^, "seal" : "([0-9a-f]{64})"\}$/;
const endingLength = 78;
/** A key that does not fit is read anew, but only so often: it may have been changed, or the seal was forged. */
const keyForMs = 5_000;

/**
 * Tells what workers' fan-out has written from what others have: whoever may insert rows can write an envelope, but no
 * seal, which takes a key that only the roles of workers may read. Seals are made by the statement `fan_out`.
 */
export class DeliverySeal {
  readonly #parts: DeliverySealParts;
  #key: SealKey | undefined;

  constructor(parts: DeliverySealParts) {
    this.#parts = parts;
  }

  /** True when a worker has written this payload, for this delivery. */
  async fits(stored: string, task: Pick<Task, 'publicationId' | 'subscriptionId'>): Promise<boolean> {
    const seal = sealEnding.exec(stored.slice(-endingLength))?.[1];
    if (seal === undefined || task.publicationId === null || task.subscriptionId === null) return false;
    const covered = [
      task.publicationId,
      Buffer.byteLength(task.subscriptionId),
      task.subscriptionId,
      `${stored.slice(0, -endingLength)}}`,
    ].join(' ');
    const found = Buffer.from(seal, 'hex');
    const before = this.#key;
    if (before && isSealOf(covered, before, found)) return true;
    const key = await this.#readKey();
    return key !== undefined && key !== before && isSealOf(covered, key, found);
  }

  async #readKey(): Promise<SealKey | undefined> {
    if (this.#key && performance.now() - this.#key.readAt < keyForMs) return this.#key;
    const { rows } = await this.#parts.handle.query(readSealKey(this.#parts.tables), []);
    const [row] = rows;
    if (!row) return undefined;
    const [inner, outer] = [row['inner_key'] as Uint8Array, row['outer_key'] as Uint8Array];
    return (this.#key = { inner, outer, readAt: performance.now() });
  }
}

function isSealOf(covered: string, { inner, outer }: SealKey, found: Buffer): boolean {
  const inside = createHash('sha256').update(inner).update(covered).digest();
  return timingSafeEqual(createHash('sha256').update(outer).update(inside).digest(), found);
}
