import { TarefaError } from '../errors.js';
import { makeFolder } from './data-directory.js';
import type { EmbeddedPostgres, EmbeddedPostgresOptions } from './embedded-options.js';
import { messageOf } from './error-facts.js';
import { prepareInstallation } from './installation.js';
import type { Machine } from './machine.js';
import { findPostgresPackage } from './postgres-package.js';
import { joinServer } from './shared-server.js';
import { withStartLock } from './start-lock.js';

/** Starts the embedded server on a given machine, or joins the one that runs on the same folder. */
export async function startOn(machine: Machine, options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => undefined);
  const packaged = await findPostgresPackage(machine);
  const dataDir = options.dataDir ?? '.tarefa';
  try {
    const wanted = await makeFolder(dataDir);
    return await withStartLock(wanted, async () => {
      const installation = await prepareInstallation(machine, packaged, wanted, log);
      return joinServer(installation, options.settings ?? {}, log);
    });
  } catch (error) {
    throw error instanceof TarefaError ? error : startFailed(dataDir, error);
  }
}

/** For what only the operating system can explain: no permission, no space, a read-only disk. */
function startFailed(dataDir: string, cause: unknown): TarefaError {
  return new TarefaError(
    'EMBEDDED_START_FAILED',
    `The embedded PostgreSQL cannot use the folder ${dataDir}: ${messageOf(cause)}. If root made ` +
      'it, start as root or delete it as root; else make it writable, or choose another folder as dataDir.',
    { cause },
  );
}
