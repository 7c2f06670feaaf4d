import { dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const cacheIn = (folder: string): string => join(folder, 'node_modules/.cache/tarefa-test');

/** Folder with another version of Nest for this run: `npm run test:nest` sets it. */
export const nestFolder = process.env['TAREFA_TEST_NEST'] || undefined;

/** Where the library is compiled for all runs. */
export const compiledCache = cacheIn(root);

/** The copy of this test run: below the node_modules with the Nest of the run, so that it finds the packages it imports. */
export const compiledFolder = join(cacheIn(nestFolder ?? root), `run-${process.pid}`);

/** Where copies of other runs may be left. */
export const compiledRuns = dirname(compiledFolder);
