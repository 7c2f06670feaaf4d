import type { TestProject } from 'vitest/node';
import { CoordinationServer } from '../../lib/coordination/tcp/coordination-server.js';

/**
 * With `TAREFA_TEST_MODE=client-server` every application of the run is woken through a server of nsj-queue-lib's client-server
 * mode, because it finds the variables of that mode.
 */
export default async function setUp(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  // Vitest asks for the projects and for what they share.
  if (project.isRootProject() || process.env['TAREFA_TEST_MODE'] !== 'client-server') return undefined;
  const server = await CoordinationServer.start({
    host: '127.0.0.1',
    notifyPort: 0,
    lockPort: 0,
    maxClients: 1_000,
    messageTimeoutMs: 5_000,
    idleTimeoutMs: 30_000,
    mayLock: async () => false,
    queue: '',
    report: (message) => process.stderr.write(`the server of client-server mode ${message}\n`),
  });
  process.env['CLIENT_SERVER_MODE'] = 'TRUE';
  process.env['LOCK_SERVICE_PORT'] = String(server.lockPort);
  return () => server.close();
}
