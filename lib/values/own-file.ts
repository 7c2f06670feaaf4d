import { existsSync } from 'node:fs';
import { TarefaError } from '../errors.js';
import { bundlersLink } from './docs-link.js';

const here: string | undefined = import.meta.url;

/** The folder of the compiled library; undefined in a bundle of CommonJS, in which no module knows where it is. */
export const libraryFolder: URL | undefined = here ? new URL('../', here) : undefined;

/**
 * Where a file is that the library does not import: bundlers do not see that it is needed.
 *
 * @param path below the folder of the compiled library
 * @param user what needs it, at the beginning of a sentence
 * @throws {TarefaError} `OPTIONS_INVALID`
 */
export function ownFile(path: string, user: string): URL {
  const file = libraryFolder && new URL(path, libraryFolder);
  if (file && existsSync(file)) return file;
  throw new TarefaError(
    'OPTIONS_INVALID',
    `${user} needs the file ${path} of nestjs-tarefa, which is missing${file ? ` (${file.href})` : ''}: a bundler put the ` +
      'library into its bundle and left that file out. Keep packages out of the bundle: --packages=external for esbuild, ' +
      `externals: [nodeExternals()] for webpack, as Nest's CLI does automatically. See ${bundlersLink()}`,
  );
}
