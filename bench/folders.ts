import { fileURLToPath } from 'node:url';

/** The compiled benchmark: `dist/bench/`. */
export const compiledFolder = new URL('.', import.meta.url);

/** Its sources: `bench/`, with the peers' adapters and packages, notes and results. */
export const sourceFolder = new URL('../../bench/', import.meta.url);

/** A path below `bench/`. */
export function inSources(path: string): string {
  return fileURLToPath(new URL(path, sourceFolder));
}
