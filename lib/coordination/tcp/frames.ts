/** What ends every message, as nsj-queue-lib sends it. */
const endMark = '###END###';
const endBytes = Buffer.from(endMark);

/** The most bytes of a message before its mark. Those of both libraries have a few hundred. */
export const longestMessage = 16_384;

/** A message as it is sent. */
export function frame(message: string): Buffer {
  return Buffer.from(message + endMark);
}

/** Puts messages together again, which arrive split over segments, or several in one. */
export class FrameReader {
  #begun: Buffer = Buffer.alloc(0);
  #isTooLong = false;

  /** True while a message has begun and not ended. */
  get isWithin(): boolean {
    return this.#begun.length > 0;
  }

  /** True once a message was longer than {@link longestMessage}: nothing is read after that. */
  get isTooLong(): boolean {
    return this.#isTooLong;
  }

  /** The messages that end in a segment, in order. Bytes that are not UTF-8 become U+FFFD. */
  read(segment: Buffer): readonly string[] {
    const messages: string[] = [];
    const bytes = this.#begun.length === 0 ? segment : Buffer.concat([this.#begun, segment]);
    // The mark, too, may be split.
    let from = Math.max(0, this.#begun.length - endBytes.length + 1);
    let start = 0;
    while (!this.#isTooLong) {
      const end = bytes.indexOf(endBytes, from);
      const length = (end === -1 ? bytes.length - endBytes.length + 1 : end) - start;
      this.#isTooLong = length > longestMessage;
      if (end === -1 || this.#isTooLong) break;
      messages.push(bytes.toString('utf8', start, end));
      start = end + endBytes.length;
      from = start;
    }
    // A copy: what is left of a large segment must not keep all of it.
    this.#begun = this.#isTooLong ? Buffer.alloc(0) : Buffer.from(bytes.subarray(start));
    return messages;
  }
}
