import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { keepOwner, type DataDirectory } from './data-directory.js';
import { codeOf } from './error-facts.js';
import { isRunning, type ProcessIdentity } from './process-table.js';

/** One application that uses the server; a process that starts it twice is two. */
export interface Owner extends ProcessIdentity {
  readonly id: string;
}

interface OwnersFile {
  /** The folder the file was written for: in a copy of the folder it says nothing. */
  readonly home: string;
  readonly owners: readonly Owner[];
  /** Process id of a server that was told to stop, which may still answer for a moment. */
  readonly stopping?: number | undefined;
}

/**
 * The applications that use one server, kept in a file beside its data: the last to leave stops the server,
 * and a server without a living owner was left behind by a killed run. Read and written only under the start
 * lock, synchronously, because the last moment of a process is one of the occasions.
 */
export class ServerOwners {
  readonly #home: string;
  readonly #file: string;

  constructor(directory: DataDirectory) {
    this.#home = directory.home;
    this.#file = directory.ownersFile;
  }

  /** Adds an owner; a server that has one is not to be stopped any more. */
  join(owner: Owner): void {
    this.#write({ home: this.#home, owners: [...this.living(), owner] });
  }

  /** Removes an owner and returns how many living ones remain. */
  leave(id: string): number {
    const owners = this.living().filter((owner) => owner.id !== id);
    this.#write({ ...this.#read(), owners });
    return owners.length;
  }

  /** Owners whose process still runs. */
  living(): readonly Owner[] {
    return this.#read().owners.filter(isRunning);
  }

  /** Notes that the server with this process id was told to stop. */
  markStopping(pid: number): void {
    this.#write({ ...this.#read(), stopping: pid });
  }

  /** Whether the server with this process id was told to stop. */
  isStopping(pid: number): boolean {
    return this.#read().stopping === pid;
  }

  #read(): OwnersFile {
    try {
      const file: OwnersFile = JSON.parse(readFileSync(this.#file, 'utf8'));
      if (file.home === this.#home) return file;
    } catch {
      // Missing, or half of it after a full disk: no owner is known, as after a fresh start.
    }
    return { home: this.#home, owners: [] };
  }

  #write(file: OwnersFile): void {
    const unfinished = `${this.#file}.new`;
    try {
      writeFileSync(unfinished, JSON.stringify(file));
      keepOwner(unfinished, this.#home);
      renameSync(unfinished, this.#file);
    } catch (error) {
      // With the folder the need to write into it is gone.
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
}
