/** How what was opened is closed: in the opposite order. */
export class CloseSteps {
  readonly #steps: (() => Promise<unknown>)[] = [];

  readonly add = (step: () => Promise<unknown>): void => {
    this.#steps.push(step);
  };

  /** Idempotent. */
  async close(): Promise<void> {
    for (const step of this.#steps.splice(0).reverse()) await step();
  }
}
