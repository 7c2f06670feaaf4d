import { join, resolve } from 'node:path';

/** Where compiled copies of the library are kept: below node_modules, so that they find the packages they import. */
export const compiledCache = join(resolve(import.meta.dirname, '../..'), 'node_modules/.cache/tarefa-test');

/** The copy of this test run. */
export const compiledFolder = join(compiledCache, `run-${process.pid}`);
