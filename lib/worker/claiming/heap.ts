/** A binary heap: the best item comes out first. */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #isBetter: (a: T, b: T) => boolean;

  constructor(isBetter: (a: T, b: T) => boolean) {
    this.#isBetter = isBetter;
  }

  get size(): number {
    return this.#items.length;
  }

  /** The best item, which stays. */
  get best(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent] as T;
      if (!this.#isBetter(item, above)) break;
      items[at] = above;
      at = parent;
    }
    items[at] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const [best] = items;
    const last = items.pop();
    if (items.length === 0 || last === undefined) return best;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= items.length) break;
      const right = left + 1;
      const isRight = right < items.length && this.#isBetter(items[right] as T, items[left] as T);
      const child = isRight ? right : left;
      if (!this.#isBetter(items[child] as T, last)) break;
      items[at] = items[child] as T;
      at = child;
    }
    items[at] = last;
    return best;
  }
}
