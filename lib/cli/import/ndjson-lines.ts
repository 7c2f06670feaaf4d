import { isUtf8 } from 'node:buffer';

const lineFeed = 10;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** A line that is not blank: its text, or why it cannot be read. The first one is number 1. */
export interface Line {
  readonly number: number;
  readonly text: string;
  readonly problem?: string;
}

/**
 * Cuts a stream of UTF-8 into lines, as many at once as a chunk of it holds. A byte order mark at its beginning is
 * skipped. No more than a chunk and a line are in memory, whatever comes.
 *
 * @param longestBytes of a line that is read
 */
export async function* readLines(
  stream: AsyncIterable<Buffer | string>,
  longestBytes: number,
): AsyncGenerator<readonly Line[]> {
  let number = 0;
  let parts: Buffer[] = [];
  let length = 0;

  const keep = (part: Buffer): void => {
    length += part.length;
    if (length > longestBytes) parts = [];
    else if (part.length > 0) parts.push(part);
  };
  const end = (): Line => {
    number += 1;
    const bytes = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
    const line =
      length > longestBytes
        ? { number, text: '', problem: `has more than ${longestBytes} bytes` }
        : decode(number, bytes);
    parts = [];
    length = 0;
    return line;
  };

  for await (const read of stream) {
    const chunk = typeof read === 'string' ? Buffer.from(read) : read;
    const lines: Line[] = [];
    let start = 0;
    for (let stop = chunk.indexOf(lineFeed); stop !== -1; stop = chunk.indexOf(lineFeed, start)) {
      keep(chunk.subarray(start, stop));
      lines.push(end());
      start = stop + 1;
    }
    keep(chunk.subarray(start));
    yield lines.filter(isNotBlank);
  }
  yield [end()].filter(isNotBlank);
}

/** Text of UTF-8 without its byte order mark; undefined when it is something else. */
export function decodeUtf8(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const isMarked = bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark);
  return bytes.toString('utf8', isMarked ? byteOrderMark.length : 0);
}

function decode(number: number, bytes: Buffer): Line {
  const text = number === 1 ? decodeUtf8(bytes) : isUtf8(bytes) ? bytes.toString('utf8') : undefined;
  return text === undefined
    ? { number, text: '', problem: 'is not UTF-8: save the file as UTF-8' }
    : { number, text };
}

function isNotBlank({ text, problem }: Line): boolean {
  return problem !== undefined || text.trim() !== '';
}
