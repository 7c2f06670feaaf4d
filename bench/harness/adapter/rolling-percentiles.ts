/** Neighbouring buckets differ by a thousandth, which keeps three digits. */
const growth = Math.log(1.001);
/** The width of the first bucket, in ms. */
const finestMs = 0.01;
const longestMs = 3_600_000;
const buckets = bucketOf(longestMs) + 1;

/**
 * Percentiles of the last seconds in bounded memory, however many values there are: a histogram per second, whose buckets
 * grow with the value, and their sum.
 */
export class RollingPercentiles {
  readonly #slots: Uint32Array[];
  readonly #sum = new Uint32Array(buckets);
  #count = 0;
  #second: number | undefined;

  constructor(windowSeconds: number) {
    this.#slots = Array.from({ length: windowSeconds }, () => new Uint32Array(buckets));
  }

  add(nowMs: number, valueMs: number): void {
    const slot = this.#advance(nowMs);
    const bucket = bucketOf(Math.min(Math.max(valueMs, 0), longestMs));
    slot[bucket] = (slot[bucket] ?? 0) + 1;
    this.#sum[bucket] = (this.#sum[bucket] ?? 0) + 1;
    this.#count += 1;
  }

  /** The value in ms that a share of all does not exceed; 0 when there is none. */
  at(nowMs: number, share: number): number {
    this.#advance(nowMs);
    if (this.#count === 0) return 0;
    const wanted = Math.max(1, Math.ceil(share * this.#count));
    let seen = 0;
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      seen += this.#sum[bucket] ?? 0;
      if (seen >= wanted) return valueOf(bucket);
    }
    return longestMs;
  }

  /** The slot of this second, after those that are too old were emptied. */
  #advance(nowMs: number): Uint32Array {
    const now = Math.floor(nowMs / 1_000);
    const last = this.#second ?? now;
    const steps = Math.min(Math.max(now - last, 0), this.#slots.length);
    for (let step = 0; step < steps; step += 1) this.#empty(this.#slotOf(now - step));
    this.#second = Math.max(last, now);
    return this.#slotOf(this.#second);
  }

  #empty(slot: Uint32Array): void {
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      const count = slot[bucket] ?? 0;
      if (count === 0) continue;
      this.#sum[bucket] = (this.#sum[bucket] ?? 0) - count;
      this.#count -= count;
    }
    slot.fill(0);
  }

  #slotOf(second: number): Uint32Array {
    const slot = this.#slots[second % this.#slots.length];
    if (slot === undefined) throw new Error('a window has at least one second');
    return slot;
  }
}

function bucketOf(valueMs: number): number {
  return Math.floor(Math.log1p(valueMs / finestMs) / growth);
}

/** The middle of a bucket. */
function valueOf(bucket: number): number {
  return Number((Math.expm1((bucket + 0.5) * growth) * finestMs).toPrecision(3));
}
