/** Things that come, taken one by one in their order. */
export class Arrivals<T> {
  readonly #waiting: ((one: T) => void)[] = [];
  readonly #came: T[] = [];

  /** Those that nobody has taken. */
  get left(): number {
    return this.#came.length;
  }

  add(one: T): void {
    const take = this.#waiting.shift();
    if (take) take(one);
    else this.#came.push(one);
  }

  /** The next one, however long it takes. */
  async next(): Promise<T> {
    const first = this.#came.shift();
    return first ?? new Promise((resolve) => this.#waiting.push(resolve));
  }
}
