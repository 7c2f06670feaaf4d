import { TarefaError } from '../errors.js';
import type { EmbeddedPostgres } from './embedded-options.js';
import type { Installation } from './installation.js';
import { databaseUrl, isServing } from './server-database.js';
import type { ServerOwners } from './server-owners.js';
import { findServer, launchServer, stopServer, type ServerProcess } from './server-process.js';
import { ServerShare } from './server-share.js';
import { waitUntil } from './wait-until.js';

const recoveryTimeoutMs = 120_000;

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
    share.serve(server);
    return {
      url: databaseUrl(server.port, installation.password),
      port: server.port,
      dataDir: installation.directory.data,
      stop: () => share.release(),
    };
  } catch (error) {
    await share.giveUp();
    throw error;
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
  log(`using the PostgreSQL that is already running on port ${running.port}`);
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
