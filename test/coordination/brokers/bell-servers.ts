import type { BellCarrier } from '../../../lib/coordination/kept-connection.js';
import { natsCarrier } from '../../../lib/coordination/brokers/nats-carrier.js';
import { redisCarrier } from '../../../lib/coordination/brokers/redis-carrier.js';
import { RemoteBell } from '../../../lib/coordination/remote-bell.js';
import { CoordinationServer } from '../../../lib/coordination/tcp/coordination-server.js';
import { tcpCarrier } from '../../../lib/coordination/tcp/tcp-carrier.js';
import { nats, redis, tcp, type QueueBell } from '../../../lib/index.js';
import { findFreePort } from '../../faults/kit/free-port.js';
import { BrokerProcess } from './broker-process.js';

/** What carries the rings of a test, started. */
export interface BellServer {
  /** The option that leads there, of a queue that is called `tasks`. */
  readonly option: QueueBell;
  readonly carrier: (queue: () => string) => BellCarrier | Promise<BellCarrier>;
  /** Starts it again after {@link kill}. */
  readonly start: () => Promise<void>;
  readonly kill: () => Promise<void>;
  /** Ends it for good. */
  readonly remove: () => Promise<void>;
}

/** By the names of the options. */
export const bellServers = {
  tcp: async (): Promise<BellServer> => {
    const port = await findFreePort();
    let server: CoordinationServer | undefined;
    const kill = async (): Promise<void> => server?.close();
    const start = async (): Promise<void> => {
      server = await CoordinationServer.start({
        host: '127.0.0.1',
        notifyPort: 0,
        lockPort: port,
        maxClients: 50,
        messageTimeoutMs: 5_000,
        idleTimeoutMs: 30_000,
        mayLock: async () => true,
        queue: 'public.others',
        report: () => undefined,
      });
    };
    await start();
    const place = { host: '127.0.0.1', port, messageTimeoutMs: 5_000 };
    const carrier = (queue: () => string): BellCarrier => tcpCarrier(place, queue);
    return { option: tcp({ port }), carrier, start, kill, remove: kill };
  },
  redis: async (): Promise<BellServer> => {
    const broker = await BrokerProcess.create('redis');
    const url = `redis://127.0.0.1:${broker.port}`;
    return {
      option: redis({ url }),
      carrier: () => redisCarrier({ channel: 'tarefa.tasks', client: { url } }),
      ...controls(broker),
    };
  },
  nats: async (): Promise<BellServer> => {
    const broker = await BrokerProcess.create('nats');
    const servers = `nats://127.0.0.1:${broker.port}`;
    return {
      option: nats({ servers }),
      carrier: () => natsCarrier({ subject: 'tarefa.tasks', client: { servers } }),
      ...controls(broker),
    };
  },
} as const;

/** A bell of a queue, as if in a process of its own. */
export async function bellOf(server: Pick<BellServer, 'carrier'>, name: string): Promise<RemoteBell> {
  const queue = (): string => name;
  return new RemoteBell(await server.carrier(queue), queue, () => undefined);
}

function controls(broker: BrokerProcess): Pick<BellServer, 'start' | 'kill' | 'remove'> {
  return { start: () => broker.start(), kill: () => broker.kill(), remove: () => broker.remove() };
}
