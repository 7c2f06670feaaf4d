import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What another version of PostgreSQL changes nothing of: other databases. */
const ofOthers = ['test/**/{mysql,mariadb,singlestore}*.test.ts', 'test/storage/mysql/**'];

/** Test files for what a server can be brought to only from a version on. */
const since: readonly (readonly [major: number, file: string])[] = [
  // Before that the queue of notifications holds eight gigabytes, and no setting makes it smaller.
  [17, 'test/faults/full-notify-queue.test.ts'],
];

/**
 * The tests that have nothing to run on the PostgreSQL of a folder, as patterns.
 *
 * @param folder of the platform's package; empty for the one of package.json
 */
export function leftOutOn(folder: string): string[] {
  if (folder === '') return [];
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const major = Number.parseInt(version, 10);
  return [...ofOthers, ...since.flatMap(([first, file]) => (major < first ? [file] : []))];
}
