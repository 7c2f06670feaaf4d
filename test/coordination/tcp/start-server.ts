import { onTestFinished } from 'vitest';
import {
  CoordinationServer,
  type CoordinationServerParts,
} from '../../../lib/coordination/tcp/coordination-server.js';
import { RemoteBell } from '../../../lib/coordination/remote-bell.js';
import { tcpCarrier } from '../../../lib/coordination/tcp/tcp-carrier.js';
import { Arrivals } from '../../support/arrivals.js';
import { NsjSocket } from './nsj-socket.js';

/** A server of a test, and what it reported. */
export interface StartedServer {
  readonly server: CoordinationServer;
  readonly reports: Arrivals<string>;
  /** A worker of nsj-queue-lib that waits. */
  readonly worker: () => Promise<NsjSocket>;
  /** A connection of its routines. */
  readonly locker: () => Promise<NsjSocket>;
}

/** Longer than any test takes, and asked for by nobody else: for those that hold timers. */
export const messageTimeoutMs = 600_001;
export const idleMs = 600_002;

/** Starts a server on free ports, until the test ends. Nothing times out in it by itself. */
export async function startServer(parts: Partial<CoordinationServerParts> = {}): Promise<StartedServer> {
  const reports = new Arrivals<string>();
  const server = await CoordinationServer.start({
    host: '127.0.0.1',
    notifyPort: 0,
    lockPort: 0,
    maxClients: 50,
    messageTimeoutMs,
    idleTimeoutMs: idleMs,
    mayLock: async () => true,
    queue: 'public.tasks',
    report: (message) => reports.add(message),
    ...parts,
  });
  onTestFinished(() => server.close());
  return {
    server,
    reports,
    worker: () => NsjSocket.open(server.notifyPort),
    locker: () => NsjSocket.open(server.lockPort),
  };
}

/** A bell of a queue through the server on that port, as if in a process of its own. */
export function tcpBell(
  port: number,
  name = 'public.tasks',
  timeoutMs = 5_000,
  lost: (error: unknown) => void = () => undefined,
): RemoteBell {
  const queue = (): string => name;
  return new RemoteBell(
    tcpCarrier({ host: '127.0.0.1', port, messageTimeoutMs: timeoutMs }, queue),
    queue,
    lost,
  );
}
