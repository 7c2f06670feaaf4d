import { createRequire } from 'node:module';
import { join } from 'node:path';
import { thisMachine, type Machine } from '../../lib/embedded/machine.js';

/** Folder of the platform package whose PostgreSQL the tests run on; `npm run test:versions` sets it. */
const folder = process.env['TAREFA_TEST_POSTGRES'] ?? '';

/** The computer on which the tests start servers: with the PostgreSQL of package.json, unless another is asked for. */
export const testMachine: Machine = folder === '' ? thisMachine : { ...thisMachine, resolve: resolveThere };

/** Both packages, the general one and that of the platform, are the one in the folder. */
function resolveThere(): string {
  return createRequire(join(folder, 'package.json')).resolve('./dist/index.js');
}
