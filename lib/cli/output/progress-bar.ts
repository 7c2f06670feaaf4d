/** How far a long work has come. */
export interface Progress {
  /** So much more is done. */
  advance(by: number): void;
  /** Leaves the last state in sight. Idempotent. */
  end(): void;
}

/** What it is drawn on: a terminal's standard error. */
export interface BarScreen {
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

const redrawMs = 100;
const barWidth = 24;
/** Taken for the width of a terminal that does not tell its own: what fits there fits nearly everywhere. */
const leastColumns = 40;

/** Where output is not watched. */
export const silentProgress: Progress = { advance: () => undefined, end: () => undefined };

/** A bar that is drawn over itself: what is done, of how much, how fast, and how long it will take. */
export class ProgressBar implements Progress {
  readonly #screen: BarScreen;
  readonly #label: string;
  readonly #total: number | undefined;
  readonly #startedAt = performance.now();
  #done = 0;
  #drawnAt = -Infinity;
  #ended = false;

  /** @param total undefined when it is unknown */
  constructor(screen: BarScreen, label: string, total?: number) {
    this.#screen = screen;
    this.#label = label;
    this.#total = total;
    this.#draw();
  }

  advance(by: number): void {
    this.#done += by;
    if (!this.#ended && performance.now() - this.#drawnAt >= redrawMs) this.#draw();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#draw();
    this.#screen.write('\n');
  }

  #draw(): void {
    this.#drawnAt = performance.now();
    const room = (this.#screen.columns || leastColumns) - 1;
    const forms = this.#forms();
    const text = forms.find(({ length }) => length <= room) ?? forms.at(-1)?.slice(0, room) ?? '';
    this.#screen.write(`\r${text}\x1b[K`);
  }

  /** What it says, shorter and shorter: a line that wraps could not be drawn over, and one that is cut says something else. */
  #forms(): readonly string[] {
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    const rate = seconds > 0 ? this.#done / seconds : 0;
    const speed = rate > 0 ? `  ${count(Math.round(rate))}/s` : '';
    if (this.#total === undefined) {
      const short = `${this.#label}  ${count(this.#done)}`;
      return [`${short}${speed}`, short, count(this.#done)];
    }
    const share = this.#total === 0 ? 1 : Math.min(1, this.#done / this.#total);
    const filled = Math.round(share * barWidth);
    const bar = `${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}`;
    const left = this.#ended || rate === 0 ? '' : `  ${Math.ceil((this.#total - this.#done) / rate)} s left`;
    const amount = `${count(this.#done)} of ${count(this.#total)}`;
    return [
      `${this.#label} [${bar}] ${amount}${speed}${left}`,
      `${this.#label} [${bar}] ${amount}${speed}`,
      `${this.#label} [${bar}] ${amount}`,
      `${this.#label} ${amount}`,
      amount,
      `${Math.floor(share * 100)}%`,
    ];
  }
}

function count(n: number): string {
  return n.toLocaleString('en-US');
}
