import type { LogLine } from '../log-line.js';

/** A line that waits to be sent. It is written out only then: most of those that are dropped never cost that. */
export interface BufferedLine {
  readonly line: LogLine;
  /** When it was said, in ms since 1970. */
  readonly ms: number;
  /** How long it will be, about. */
  readonly bytes: number;
}

export interface BufferBounds {
  readonly lines: number;
  readonly bytes: number;
}

/** Lines in their order, up to a limit: the oldest make room for new ones. */
export class LineBuffer {
  readonly #most: BufferBounds;
  #lines: BufferedLine[] = [];
  /** Where the oldest stands: taking from the front moves nothing. */
  #first = 0;
  #bytes = 0;

  constructor(most: BufferBounds) {
    this.#most = most;
  }

  get length(): number {
    return this.#lines.length - this.#first;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns how many older lines had to go. */
  push(line: BufferedLine): number {
    let dropped = 0;
    while (
      this.length > 0 &&
      (this.length >= this.#most.lines || this.#bytes + line.bytes > this.#most.bytes)
    ) {
      this.#shift();
      dropped += 1;
    }
    this.#lines.push(line);
    this.#bytes += line.bytes;
    return dropped;
  }

  /** Takes the oldest lines: at least one, where there is any. */
  take(most: BufferBounds): readonly BufferedLine[] {
    const taken: BufferedLine[] = [];
    let bytes = 0;
    while (this.length > 0 && taken.length < most.lines) {
      const next = this.#lines[this.#first];
      if (!next || (taken.length > 0 && bytes + next.bytes > most.bytes)) break;
      bytes += next.bytes;
      taken.push(next);
      this.#shift();
    }
    return taken;
  }

  /** Returns how many lines went. */
  clear(): number {
    const { length } = this;
    this.#lines = [];
    this.#first = 0;
    this.#bytes = 0;
    return length;
  }

  #shift(): void {
    this.#bytes -= this.#lines[this.#first]?.bytes ?? 0;
    this.#first += 1;
    if (this.#first < 1_024 || this.#first * 2 < this.#lines.length) return;
    this.#lines = this.#lines.slice(this.#first);
    this.#first = 0;
  }
}
