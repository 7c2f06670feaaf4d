import { createHash, timingSafeEqual } from 'node:crypto';
import type { EndpointStore, SealKeys } from '../storage/endpoints.js';
import type { Task } from '../task.js';

interface SealKey extends SealKeys {
  readonly readAt: number;
}

/** What fan-out puts before the last brace of an envelope, and that brace. */
const sealEnding = /^, "seal" : "([0-9a-f]{64})"\}$/;
const endingLength = 78;
/** When a seal does not fit, the key may have been replaced; it is read again at most once in this time, as seals may be forged. */
const keyForMs = 5_000;

/**
 * Tells what workers' fan-out has written from what others have: a role that may insert rows can write an envelope, but no
 * seal, which takes a key that only the roles of workers may read. Seals are made by the statement `fan_out`.
 */
export class DeliverySeal {
  readonly #endpoints: Pick<EndpointStore, 'sealKeys'>;
  #key: SealKey | undefined;

  constructor(endpoints: Pick<EndpointStore, 'sealKeys'>) {
    this.#endpoints = endpoints;
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
    const keys = await this.#endpoints.sealKeys();
    if (!keys) return undefined;
    return (this.#key = { ...keys, readAt: performance.now() });
  }
}

function isSealOf(covered: string, { inner, outer }: SealKeys, found: Buffer): boolean {
  const inside = createHash('sha256').update(inner).update(covered).digest();
  return timingSafeEqual(createHash('sha256').update(outer).update(inside).digest(), found);
}
