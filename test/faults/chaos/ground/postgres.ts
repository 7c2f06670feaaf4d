import { Client, Pool, type ClientConfig } from 'pg';
import { startCluster, type Cluster, type ClusterOptions } from '../../kit/cluster.js';
import { startFakeClock, type FakeClock } from '../../kit/fake-clock.js';
import { postgresNetworkFaults } from '../nemesis/network.js';
import { postgresActions } from '../nemesis/postgres-actions.js';
import { postgresFaults } from '../nemesis/postgres-server.js';
import { clockKind } from '../nemesis/server-clock.js';
import { serverFaults } from '../nemesis/server.js';
import { mostConnections } from '../oracles/resources.js';
import { createJudgesTables } from '../schema.js';
import type { Ground } from './ground.js';
import { postgresClients } from './postgres-clients.js';
import { patiently, postgresQuestions } from './postgres-questions.js';

const database = 'chaos';
/** Owns the database and has no other rights, as the user of an application. */
const role = 'application';
const runner = 'runner';

const serverSettings = {
  max_connections: '200',
  shared_buffers: '128MB',
  // A run writes some hundred MB: old log goes early, and recovery after a crash is short.
  max_wal_size: '256MB',
  checkpoint_timeout: '30s',
  // But not before a standby has read it.
  wal_keep_size: '256MB',
};

/** Starts a PostgreSQL for a run. */
export async function openPostgres(wants: (kind: string) => boolean): Promise<Ground> {
  const clock = wants(clockKind) ? await startFakeClock() : undefined;
  const options: ClusterOptions = { settings: serverSettings, ...(clock && { env: clock.env }) };
  let primary: Cluster | undefined;
  try {
    primary = await startCluster(options);
    return groundOf(primary, { options, clock, version: await prepare(primary) });
  } catch (error) {
    await primary?.stop();
    await clock?.stop();
    throw error;
  }
}

/** Makes the database; returns the server's version. */
async function prepare(server: Cluster): Promise<number> {
  const [row] = await server.run(`select current_setting('server_version_num')::int as version`);
  const version = Number(row?.['version']);
  await server.run(`create role ${role} login password '${role}'`);
  await server.run(`create database ${database} owner ${role}`);
  if (version >= 170_000) {
    // As few as there may be, so that it can be filled.
    await server.run('alter system set max_notify_queue_pages = 64');
    await server.restart('fast');
  }
  return version;
}

interface Started {
  readonly options: ClusterOptions;
  readonly clock: FakeClock | undefined;
  readonly version: number;
}

function groundOf(first: Cluster, { options, clock, version }: Started): Ground {
  let primary = first;
  const address = (): URL => {
    const url = new URL(primary.url);
    url.pathname = `/${database}`;
    return url;
  };
  const { hostname: host, username: user, password } = address();
  /** Goes where the primary is. */
  class FollowingClient extends Client {
    constructor(config?: ClientConfig) {
      // The pool hides the password from copies.
      super({ ...config, password, port: primary.port });
    }
  }
  const pool = new Pool({
    ...{ host, user, password, database, max: 20, application_name: runner },
    Client: FollowingClient,
  });
  const server = {
    ...{ pool, role, version, clock, patiently },
    get url() {
      const url = address();
      url.username = url.password = role;
      return url.href;
    },
    get adminUrl() {
      return address().href;
    },
    roles: {
      options,
      get primary() {
        return primary;
      },
      follow: async (next: Cluster) => {
        const old = primary;
        primary = next;
        // What the run asks is asked there.
        await old.run('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [
          runner,
        ]);
      },
    },
  };
  let stopped: Promise<void> | undefined;
  return {
    title: 'PostgreSQL',
    get url() {
      return server.url;
    },
    get isUp() {
      return primary.pid !== undefined;
    },
    start: () => primary.start(),
    restart: () => primary.restart('fast'),
    crash: () => primary.crash(),
    clients: postgresClients(pool),
    ask: postgresQuestions(pool),
    faults: [
      ...postgresFaults(pool, patiently),
      ...serverFaults('PostgreSQL', 'restart PostgreSQL (fast)'),
      ...postgresNetworkFaults,
      ...postgresActions(server),
    ],
    mostConnections,
    createJudgesTables: async () => {
      await createJudgesTables(pool);
      // What workers do is written down by their own statements; refusals are counted past all transactions.
      await pool.query(`
        grant all on all tables in schema public to ${role};
        grant all on all sequences in schema public to ${role};
        create sequence refusals;
        select nextval('refusals')`);
    },
    evidence: async () => pool,
    stop: () => {
      stopped ??= (async () => {
        await pool.end();
        await primary.stop();
        await clock?.stop();
      })();
      return stopped;
    },
  };
}
