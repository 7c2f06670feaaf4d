import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { TarefaError } from '../queue.errors.js';
import type { EmbeddedPostgres } from './embedded-postgres.js';
import type { Installation } from './installation.js';
import { ownIdentity } from './process-table.js';
import { databaseUrl, isServing } from './server-database.js';
import { ServerOwners } from './server-owners.js';
import { findServer, launchServer, signalServer, stopServer, type ServerProcess } from './server-process.js';
import { withStartLock, withStartLockSync } from './start-lock.js';
import { waitUntil } from './wait-until.js';

const recoveryTimeoutMs = 120_000;
const lastMomentMs = 1_000;

/** Joins the server that runs on these files, or starts it. To be called under the start lock. */
export async function joinServer(
  installation: Installation,
  settings: Readonly<Record<string, string>>,
  log: (line: string) => void,
): Promise<EmbeddedPostgres> {
  const share = new ServerShare(installation, log);
  share.take();
  try {
    const server =
      (await findServing(installation, share.owners, settings, log)) ??
      (await startServing(installation, settings, log));
    return {
      url: databaseUrl(server.port, installation.password),
      port: server.port,
      dataDir: installation.directory.data,
      stop: () => share.release(server),
    };
  } catch (error) {
    await share.giveUp();
    throw error;
  }
}

/** One application's share in the server; the last one to be released stops it. */
class ServerShare {
  readonly owners: ServerOwners;
  readonly #id = randomUUID();
  readonly #installation: Installation;
  readonly #log: (line: string) => void;
  readonly #atExit = (): void => this.#releaseAtExit();
  #released: Promise<void> | undefined;

  constructor(installation: Installation, log: (line: string) => void) {
    this.#installation = installation;
    this.#log = log;
    this.owners = new ServerOwners(installation.directory);
  }

  /** Before the server is started, so that no end of this process leaves it behind. */
  take(): void {
    this.owners.join({ ...ownIdentity(), id: this.#id });
    process.on('exit', this.#atExit);
  }

  release(server: ServerProcess): Promise<void> {
    this.#released ??= this.#release(server).finally(() => process.off('exit', this.#atExit));
    return this.#released;
  }

  /** After a start that failed; under its lock. */
  async giveUp(): Promise<void> {
    // What made the start fail is the better error.
    await this.#leave().catch(() => undefined);
    process.off('exit', this.#atExit);
  }

  async #release(server: ServerProcess): Promise<void> {
    const { directory, binaries } = this.#installation;
    // Somebody deleted the folder under the running server: nobody else can be using it through there.
    if (!existsSync(directory.wanted)) return stopServer(server, directory, binaries);
    await withStartLock(directory.wanted, () => this.#leave());
  }

  async #leave(): Promise<void> {
    const { directory, binaries } = this.#installation;
    if (this.owners.leave(this.#id) > 0) return;
    const running = findServer(directory);
    if (running === undefined) return;
    this.owners.markStopping(running.pid);
    await stopServer(running, directory, binaries);
    this.#log('stopped PostgreSQL');
  }

  /** Nothing can be awaited any more: tells the server to stop, and does not look whether it does. */
  #releaseAtExit(): void {
    const { directory } = this.#installation;
    try {
      withStartLockSync(directory.wanted, lastMomentMs, () => {
        if (this.owners.leave(this.#id) > 0) return;
        const running = findServer(directory);
        if (running === undefined) return;
        this.owners.markStopping(running.pid);
        signalServer(running.pid, 'SIGINT');
      });
    } catch {
      // The folder is gone or full; the process ends all the same, and the next start finds the server.
    }
  }
}

/** The server that runs already: another application's, or one without owner that a killed run left behind. */
async function findServing(
  { directory, binaries, password }: Installation,
  owners: ServerOwners,
  settings: Readonly<Record<string, string>>,
  log: (line: string) => void,
): Promise<ServerProcess | undefined> {
  const running = findServer(directory);
  if (running === undefined) return undefined;
  if (owners.isStopping(running.pid)) {
    await stopServer(running, directory, binaries);
    return undefined;
  }
  const state = await waitUntil(
    async () => {
      if (findServer(directory)?.pid !== running.pid) return 'gone';
      return (await isServing(databaseUrl(running.port, password))) ? 'serving' : undefined;
    },
    { everyMs: 20, timeoutMs: recoveryTimeoutMs },
  );
  if (state === 'gone') return undefined;
  if (state === undefined) throw doesNotServe(running, directory.logFile);
  log(`using the PostgreSQL that already runs on port ${running.port}`);
  if (Object.keys(settings).length > 0) log('its settings stay as they are until it is stopped');
  return running;
}

async function startServing(
  { directory, binaries, user, password }: Installation,
  settings: Readonly<Record<string, string>>,
  log: (line: string) => void,
): Promise<ServerProcess> {
  const server = await launchServer(directory, binaries, user, settings);
  const url = databaseUrl(server.port, password);
  const serving = await waitUntil(async () => ((await isServing(url)) ? true : undefined), {
    everyMs: 20,
    timeoutMs: recoveryTimeoutMs,
  });
  if (serving === undefined) throw doesNotServe(server, directory.logFile);
  log(`started PostgreSQL ${binaries.serverVersion} on port ${server.port}${user ? ` as ${user.name}` : ''}`);
  return server;
}

function doesNotServe(server: ServerProcess, logFile: string): TarefaError {
  return new TarefaError(
    'EMBEDDED_START_FAILED',
    `The embedded PostgreSQL (process ${server.pid}) runs, but takes no connections on port ${server.port}. ` +
      `See ${logFile}.`,
  );
}
