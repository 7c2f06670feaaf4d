/**
 * The queues of one application: their names, and the way out when one of them cannot boot. Nest shuts nothing
 * down then, so what the others have opened would stay open.
 */
export class QueueGroup {
  readonly #names = new Set<string>();
  readonly #exits: (() => Promise<void>)[] = [];
  #left = false;

  get names(): ReadonlySet<string> {
    return this.#names;
  }

  add(name: string): void {
    this.#names.add(name);
  }

  /** Leaves what was just opened to be closed when the boot fails: at once, if it has failed meanwhile. */
  async closeOnFailure(close: () => Promise<void>): Promise<void> {
    if (this.#left) await close();
    else this.#exits.push(close);
  }

  /** The boot has failed: closes everything, last opened first. */
  async leave(): Promise<void> {
    this.#left = true;
    for (const close of this.#exits.splice(0).reverse()) await close();
  }
}
