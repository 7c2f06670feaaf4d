const longestLine = 100_000;
const lineFeed = 10;

/** A line that is not blank: its text, or why it cannot be read. The first one is number 1. */
export interface Line {
  readonly number: number;
  readonly text: string;
  readonly problem?: string;
}

/** Cuts a stream of UTF-8 into lines. Holds no more than one chunk and one line, whatever comes. */
export async function* readLines(stream: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let number = 0;
  let parts: Buffer[] = [];
  let length = 0;

  const keep = (part: Buffer): void => {
    length += part.length;
    if (length > longestLine) parts = [];
    else parts.push(part);
  };
  const end = (): Line => {
    number += 1;
    const line = length > longestLine ? tooLong(number) : decode(number, Buffer.concat(parts));
    parts = [];
    length = 0;
    return line;
  };

  for await (const chunk of stream) {
    let start = 0;
    for (let stop = chunk.indexOf(lineFeed); stop !== -1; stop = chunk.indexOf(lineFeed, start)) {
      keep(chunk.subarray(start, stop));
      const line = end();
      if (!isBlank(line)) yield line;
      start = stop + 1;
    }
    keep(chunk.subarray(start));
  }
  const last = end();
  if (!isBlank(last)) yield last;
}

function decode(number: number, bytes: Buffer): Line {
  try {
    return { number, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { number, text: '', problem: 'this line is not UTF-8: save the file in that encoding' };
  }
}

function tooLong(number: number): Line {
  return { number, text: '', problem: `this line has more than ${longestLine} bytes: split the order` };
}

function isBlank({ text, problem }: Line): boolean {
  return problem === undefined && text.trim() === '';
}
