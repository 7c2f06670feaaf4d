import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * The tests that cannot run here, as patterns: MySQL is not among every system's packages, so its tests are left out where it
 * is neither unpacked nor named by `MYSQL_URL`. `npm run test:servers` tries to unpack it first.
 */
export async function leftOut(): Promise<string[]> {
  if (process.env['MYSQL_URL']) return [];
  const script = resolve(import.meta.dirname, '../../scripts/unpack-mysql.mjs');
  const { unpackedServer } = (await import(pathToFileURL(script).href)) as {
    readonly unpackedServer: (flavour: string) => string | undefined;
  };
  return unpackedServer('mysql') === undefined ? ['test/**/mysql*.servers.test.ts'] : [];
}
