import { CoordinationServer } from '../../lib/coordination/tcp/coordination-server.js';
import { BrokerProcess } from '../../test/coordination/brokers/broker-process.js';
import { startPgBouncer } from '../../test/faults/kit/pgbouncer.js';
import { log } from '../command-line.js';
import { MariadbServer } from '../servers/mariadb-server.js';

/** What carries rings, and the databases where nobody can listen. */
export interface StartedServers {
  /** PostgreSQL behind a pooler that takes LISTEN away; undefined where it cannot be had. */
  readonly pooled: string | undefined;
  /** Likewise. */
  readonly mariadb: string | undefined;
  /** Addresses: `tcp://…`, `redis://…`, `nats://…`. */
  readonly bells: readonly string[];
  readonly stop: () => Promise<void>;
}

/**
 * Starts Debian's programs, from the machine or from packages that are unpacked in a cache; what cannot be had is left out.
 *
 * @param direct address of an empty database
 */
export async function startServers(direct: string): Promise<StartedServers> {
  const stops: (() => Promise<void>)[] = [];
  const start = async <Server>(
    name: string,
    starting: Promise<Server>,
    stop: (server: Server) => Promise<void>,
  ): Promise<Server | undefined> => {
    try {
      const server = await starting;
      stops.push(() => stop(server));
      return server;
    } catch (error) {
      log(`left out: ${name} (${(error as Error).message})`);
      return undefined;
    }
  };
  const remove = (broker: BrokerProcess): Promise<void> => broker.remove();
  const bouncer = await start('PgBouncer', startPgBouncer({ url: direct }, 'transaction'), (one) =>
    one.stop(),
  );
  const redis = await start('Redis', BrokerProcess.create('redis'), remove);
  const nats = await start('NATS', BrokerProcess.create('nats'), remove);
  const mariadb = await start('MariaDB', MariadbServer.start(), (server) => server.stop());
  const server = await CoordinationServer.start({
    ...{ host: '127.0.0.1', notifyPort: 0, lockPort: 0, maxClients: 50, idleTimeoutMs: 30_000 },
    ...{ messageTimeoutMs: 5_000, queue: 'nobody', mayLock: async () => true, report: log },
  });
  return {
    pooled: bouncer?.url,
    mariadb: await mariadb?.emptyDatabase(),
    bells: [
      `tcp://127.0.0.1:${server.lockPort}`,
      ...(redis === undefined ? [] : [`redis://127.0.0.1:${redis.port}`]),
      ...(nats === undefined ? [] : [`nats://127.0.0.1:${nats.port}`]),
    ],
    stop: async () => {
      await server.close();
      for (const stop of stops) await stop();
    },
  };
}
