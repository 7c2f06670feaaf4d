import { setTimeout as pause } from 'node:timers/promises';
import { until } from './waiting.js';

/**
 * Pause before each reading of `information_schema.innodb_trx`. MariaDB and MySQL answer it from a copy that they make again only
 * when nobody has read it for 100 ms, whatever the database: two files that ask in turn every 50 ms see the same copy for ever.
 */
export const untilListedAnewMs = 250;

/** {@link until} for what `information_schema.innodb_trx` tells. */
export function untilListed<T>(ask: () => Promise<T | undefined | false | null>, what: string): Promise<T> {
  return until(async () => {
    await pause(untilListedAnewMs);
    return ask();
  }, what);
}
