import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startOn } from '../../lib/embedded/start-on.js';
import { removeOldRuns } from '../../bench/servers/old-runs.js';
import { buildForChildren } from './build.js';
import { testMachine } from './machine.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of a database on the run's server, with the right to create more. */
    databaseUrl: string;
    /** Folder of the compiled library and child programs: `lib/…`, `test/support/children/…`. */
    buildDir: string;
  }
}

/**
 * What every test file finds: a PostgreSQL (`DATABASE_URL`, or an embedded one of the version in
 * `TAREFA_TEST_POSTGRES`) and a compiled library.
 */
export default async function setUp(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  // Vitest asks for the projects and for what they share.
  if (project.isRootProject()) return undefined;
  const [server, build] = await Promise.all([startServer(), buildForChildren()]);
  project.provide('databaseUrl', server.url);
  project.provide('buildDir', build.folder);
  return async () => {
    await Promise.all([server.stop(), build.remove()]);
  };
}

interface TestServer {
  readonly url: string;
  stop(): Promise<void>;
}

async function startServer(): Promise<TestServer> {
  const url = process.env['DATABASE_URL'];
  if (url !== undefined && url !== '') return { url, stop: async () => undefined };
  await removeOldRuns('tarefa-test-');
  const folder = await mkdtemp(join(tmpdir(), `tarefa-test-${process.pid}-`));
  // When root runs the tests, the server runs as another user, who has to get in here.
  await chmod(folder, 0o755);
  const server = await startOn(testMachine, {
    dataDir: folder,
    // The data ends with the run, so nothing has to survive a power failure.
    settings: { fsync: 'off', full_page_writes: 'off', max_connections: '300' },
  });
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
