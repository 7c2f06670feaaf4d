import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Installation } from './installation.js';
import { isServerOf, ownIdentity } from './process-table.js';
import { ServerOwners } from './server-owners.js';
import { findServer, signalServer, stopServer, type ServerProcess } from './server-process.js';
import { withStartLock, withStartLockSync } from './start-lock.js';

const lastMomentMs = 1_000;

/** One application's share in a server; the last one to be released stops it. */
export class ServerShare {
  readonly owners: ServerOwners;
  readonly #id = randomUUID();
  readonly #installation: Installation;
  readonly #log: (line: string) => void;
  readonly #atExit = (): void => this.#releaseAtExit();
  #server: ServerProcess | undefined;
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

  /** Says which server it is a share in. */
  serve(server: ServerProcess): void {
    this.#server = server;
  }

  /** May be called again. */
  release(): Promise<void> {
    this.#released ??= this.#release().finally(() => process.off('exit', this.#atExit));
    return this.#released;
  }

  /** After a start that failed; under its lock. */
  async giveUp(): Promise<void> {
    // What made the start fail is the better error.
    await this.#leave().catch(() => undefined);
    process.off('exit', this.#atExit);
  }

  async #release(): Promise<void> {
    const { wanted } = this.#installation.directory;
    try {
      await withStartLock(wanted, () => this.#leave());
    } catch (error) {
      // The folder was deleted under the running server: no other application can reach it there.
      if (existsSync(wanted)) throw error;
      await this.#leave();
    }
  }

  async #leave(): Promise<void> {
    const { directory, binaries } = this.#installation;
    const last = this.#takeLast();
    if (last === undefined) return;
    await stopServer(last, directory, binaries);
    this.#log('stopped PostgreSQL');
  }

  /** Nothing can be awaited any more: tells the server to stop, and does not look whether it does. */
  #releaseAtExit(): void {
    const leave = (): void => {
      const last = this.#takeLast();
      if (last !== undefined) signalServer(last.pid, 'SIGINT');
    };
    const { wanted } = this.#installation.directory;
    try {
      if (existsSync(wanted)) withStartLockSync(wanted, lastMomentMs, leave);
      else leave();
    } catch {
      // A full disk, perhaps; the process ends anyway, and the next start finds the server.
    }
  }

  /** Leaves, and returns the server when this was its last user, so that it is stopped. */
  #takeLast(): ServerProcess | undefined {
    const { directory } = this.#installation;
    if (this.owners.leave(this.#id) > 0) return undefined;
    const running = findServer(directory) ?? this.#survivor();
    if (running !== undefined) this.owners.markStopping(running.pid);
    return running;
  }

  /** The server that goes on although its files, and with them its lock file, were deleted. */
  #survivor(): ServerProcess | undefined {
    const server = this.#server;
    return server && isServerOf(server.pid, this.#installation.directory.data) ? server : undefined;
  }
}
