import type { LogLevel, LogLine } from '../log-line.js';
import type { BufferedLine } from './line-buffer.js';

/** As Grafana knows them. */
const levels: Readonly<Record<LogLevel, string>> = {
  debug: 'debug',
  log: 'info',
  warn: 'warn',
  error: 'error',
};

/** Lines of one level and component are a stream: few enough, and each of use in a query. */
export function streamOf({ level, component }: Pick<LogLine, 'level' | 'component'>): string {
  return `${levels[level]} ${component}`;
}

/** The body of a request to `/loki/api/v1/push`: lines by stream, each with its time. */
export function pushBody(labels: Readonly<Record<string, string>>, lines: readonly BufferedLine[]): string {
  const streams = new Map<string, (readonly [time: string, text: string])[]>();
  for (const { stream, time, text } of lines) {
    const values = streams.get(stream);
    if (values) values.push([time, text]);
    else streams.set(stream, [[time, text]]);
  }
  return JSON.stringify({
    streams: [...streams].map(([stream, values]) => {
      const [level, component] = stream.split(' ');
      return { stream: { ...labels, level, component }, values };
    }),
  });
}
