import type { LogLine } from '../../../lib/observability/log-line.js';
import { LokiSink, type LokiTiming } from '../../../lib/observability/loki/loki-sink.js';
import type { LokiOptions } from '../../../lib/options/loki-options.js';
import { resolveLoki } from '../../../lib/options/resolve-loki.js';
import { OptionCheck } from '../../../lib/options/option-check.js';

/** A line of the kind that matters least. */
export function lineOf(text: string, more: Partial<LogLine> = {}): LogLine {
  return { level: 'log', component: 'queue', text, fields: {}, ...more };
}

/** A sink with what it told of itself. Nothing of it waits for long. */
export function makeSink(
  options: LokiOptions,
  timing: Partial<LokiTiming> = {},
): { readonly sink: LokiSink; readonly told: readonly LogLine[] } {
  const check = new OptionCheck([]);
  const resolved = resolveLoki({ intervalMs: 5, ...options }, 'orders', {}, check);
  check.throwIfAny('the options');
  if (!resolved) throw new Error('a URL is needed');
  const told: LogLine[] = [];
  const short = { firstRetryMs: 5, longestRetryMs: 20, ...timing };
  return { sink: new LokiSink(resolved, (line) => told.push(line), short), told };
}
