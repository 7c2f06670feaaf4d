/** A part of what the server sent: of one message, or of bytes that are no messages. */
export interface MessagePart {
  /** The message's letter, such as `C` for CommandComplete; empty where there are no messages. */
  readonly type: string;
  readonly bytes: Buffer;
  /** True when it begins, and ends, a message. */
  readonly first: boolean;
  readonly last: boolean;
}

const headerBytes = 5;
/** What can be read of a message when its first part comes. */
const legibleBytes = 1_024;

/**
 * Cuts a server's byte stream at the borders of its messages (a letter, a length of four bytes, the body).
 * Short ones come whole; a long row comes in the parts in which it arrived.
 */
export class ServerMessages {
  /** Bytes of a message that cannot be told yet. */
  #rest: Buffer = Buffer.alloc(0);
  #type = '';
  /** Bytes still to come of the message under way. */
  #missing = 0;

  push(chunk: Buffer): readonly MessagePart[] {
    const parts: MessagePart[] = [];
    let bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    this.#rest = Buffer.alloc(0);
    while (bytes.length > 0) {
      const first = this.#missing === 0;
      if (first && !this.#begin(bytes)) {
        this.#rest = bytes;
        break;
      }
      const part = bytes.subarray(0, this.#missing);
      this.#missing -= part.length;
      parts.push({ type: this.#type, bytes: part, first, last: this.#missing === 0 });
      bytes = bytes.subarray(part.length);
    }
    return parts;
  }

  /** Reads the header; false when too little is there. */
  #begin(bytes: Buffer): boolean {
    if (bytes.length < headerBytes) return false;
    const type = String.fromCharCode(bytes.readUInt8(0));
    const length = 1 + bytes.readUInt32BE(1);
    if (bytes.length < Math.min(length, legibleBytes)) return false;
    this.#type = type;
    this.#missing = length;
    return true;
  }
}
