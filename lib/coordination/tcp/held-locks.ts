/** Which of the clients of a server holds which lock. */
export class HeldLocks<Holder> {
  readonly #holders = new Map<string, Holder>();
  readonly #held = new Map<Holder, Set<string>>();

  has(lock: string): boolean {
    return this.#holders.has(lock);
  }

  /** False when it is held already, by the same one too. */
  take(lock: string, holder: Holder): boolean {
    if (this.#holders.has(lock)) return false;
    this.#holders.set(lock, holder);
    const held = this.#held.get(holder);
    if (held) held.add(lock);
    else this.#held.set(holder, new Set([lock]));
    return true;
  }

  /** False when another one holds it, who keeps it. */
  release(lock: string, holder: Holder): boolean {
    if (!this.#holders.has(lock)) return true;
    if (this.#holders.get(lock) !== holder) return false;
    this.#holders.delete(lock);
    const held = this.#held.get(holder);
    held?.delete(lock);
    if (held?.size === 0) this.#held.delete(holder);
    return true;
  }

  /** Frees all that one holds. */
  releaseAll(holder: Holder): void {
    for (const lock of this.#held.get(holder) ?? []) this.#holders.delete(lock);
    this.#held.delete(holder);
  }

  /** How many one holds. */
  countOf(holder: Holder): number {
    return this.#held.get(holder)?.size ?? 0;
  }
}
