/** A queue for something scarce, in which each waits for a limited time. */
export class WaitingLine {
  readonly #waiting: ((isTurn: boolean) => void)[] = [];

  get length(): number {
    return this.#waiting.length;
  }

  /** True when it is the caller's turn, false when the time was over first. */
  wait(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(told), 1);
        resolve(false);
      }, ms);
      const told = (isTurn: boolean): void => {
        clearTimeout(timer);
        resolve(isTurn);
      };
      this.#waiting.push(told);
    });
  }

  /** Wakes the one that has waited longest; false when none waits. */
  next(): boolean {
    const told = this.#waiting.shift();
    told?.(true);
    return told !== undefined;
  }

  /** Ends every wait without a turn. */
  dismiss(): void {
    for (const told of this.#waiting.splice(0)) told(false);
  }
}
