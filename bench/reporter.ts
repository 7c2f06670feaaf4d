import { createWriteStream } from 'node:fs';
import type { Servers } from './servers/servers.js';

/** Lines of results, as they come. */
export interface Reporter<Line> {
  readonly lines: readonly Line[];
  readonly report: (line: Line) => void;
  readonly close: () => void;
}

/** Prints every line as soon as it is known, and writes it to a file as well if there is one. */
export function openReporter<Line>(
  out: string | undefined,
  servers: Pick<Servers, 'stopping'>,
): Reporter<Line> {
  const lines: Line[] = [];
  const file = out === undefined ? undefined : createWriteStream(out);
  return {
    lines,
    report: (line) => {
      // What fails because its servers are being stopped is no result.
      if (servers.stopping) return;
      lines.push(line);
      process.stdout.write(`${JSON.stringify(line)}\n`);
      file?.write(`${JSON.stringify(line)}\n`);
    },
    close: () => file?.end(),
  };
}
