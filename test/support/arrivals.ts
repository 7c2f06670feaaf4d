import { clearTimeout as cancel, setTimeout as later } from 'node:timers';

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

  /** The next one. Fails `withinMs` after this call, if none came; a failure that nobody awaits is none. */
  next(withinMs = 20_000): Promise<T> {
    if (this.#came.length > 0) return Promise.resolve(this.#came.shift() as T);
    // Its stack leads to the test, which that of a timer does not.
    const missing = new Error(`not within ${withinMs} ms: the next that was to come`);
    const next = new Promise<T>((resolve, reject) => {
      const take = (one: T): void => {
        cancel(timer);
        resolve(one);
      };
      const timer = later(() => {
        this.#waiting.splice(this.#waiting.indexOf(take), 1);
        reject(missing);
      }, withinMs).unref();
      this.#waiting.push(take);
    });
    next.catch(() => undefined);
    return next;
  }
}
