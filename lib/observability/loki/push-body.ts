import type { LogLevel } from '../log-line.js';
import type { BufferedLine } from './line-buffer.js';
import { logfmt } from './logfmt.js';
import type { Nanoseconds } from './nanoseconds.js';

interface Stream {
  readonly stream: Readonly<Record<string, string>>;
  readonly values: (readonly [time: string, text: string])[];
}

/** As Grafana knows them. */
const levels: Readonly<Record<LogLevel, string>> = {
  debug: 'debug',
  log: 'info',
  warn: 'warn',
  error: 'error',
};

/**
 * The body of a request to `/loki/api/v1/push`. Lines of one level and component are a stream: few enough, and each of use
 * in a query.
 */
export function pushBody(
  labels: Readonly<Record<string, string>>,
  lines: readonly BufferedLine[],
  times: Nanoseconds,
): string {
  const streams = new Map<string, Stream>();
  for (const { line, ms } of lines) {
    const { level, component } = line;
    const name = `${level} ${component}`;
    let stream = streams.get(name);
    if (!stream) {
      stream = { stream: { ...labels, level: levels[level], component }, values: [] };
      streams.set(name, stream);
    }
    stream.values.push([times.next(ms), logfmt(line)]);
  }
  return JSON.stringify({ streams: [...streams.values()] });
}
