import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProxy } from '../support/database-proxy.js';
import type { Child } from '../support/processes.js';
import { until } from '../support/waiting.js';
import { createEffectTable } from '../support/worker-process.js';
import { startCluster, type Cluster, type ClusterDatabase } from './kit/cluster.js';
import { startFaultWorker } from './kit/fault-worker.js';
import { allOnce, drained } from './kit/outcome.js';
import { joinNetworks } from './kit/two-networks.js';

// Over a minute, of which it works for seconds: the kernels of both sides give their connections up by clocks of their own, and the
// limits that the library sets for that show only where packets really get lost.

/** What every connection promises, whatever its state is when the network breaks. */
const noticedMs = 60_000;

/** A network between the far worker and the server that can be made to swallow everything. */
interface Network {
  readonly url: string;
  readonly launcher: readonly string[];
  drop(): Promise<void>;
  restore(): Promise<void>;
}

let cluster: Cluster;
let database: ClusterDatabase;
let network: Network;
const undo: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const networks = await joinNetworks((reason) => {
    process.stdout.write(
      `dropped-packets: a silent proxy stands in for the network, as none can be made: ${reason}\n`,
    );
  });
  if (networks) {
    undo.push(networks.close);
    cluster = await startCluster({
      socket: true,
      launcher: networks.serverLauncher,
      settings: { listen_addresses: networks.serverAddress },
      hba: ['host all all 10.83.0.0/24 scram-sha-256'],
    });
  } else {
    cluster = await startCluster();
  }
  undo.push(() => cluster.stop());
  database = await cluster.createDatabase();
  await createEffectTable(database);
  if (networks) {
    const address = new URL(database.url);
    address.hostname = networks.serverAddress;
    address.searchParams.delete('host');
    const { workerLauncher: launcher, drop, restore } = networks;
    network = { url: address.href, launcher, drop, restore };
  } else {
    const proxy = await startProxy(database);
    undo.push(() => proxy.close());
    network = {
      url: proxy.url,
      launcher: [],
      // The server cannot notice by itself, as the proxy's end of the connection lives on.
      drop: async () => {
        proxy.halfClose('database');
        proxy.silence();
      },
      restore: async () => proxy.pass(),
    };
  }
});

afterAll(async () => {
  for (const one of undo.splice(0).toReversed()) await one();
});

const start = (address: { readonly url: string }, launcher: readonly string[] = []): Promise<Child> =>
  startFaultWorker(address, { pollIntervalMs: 3_000 }, { launcher });

test('packets are dropped and nobody is told: both sides notice, another worker takes over, and the first one comes back', async () => {
  const far = await start(network, network.launcher);
  await database.pool.query(
    `insert into tasks (processo, payload) values ('effect and hold', '{}'), ('hold', '{}')`,
  );
  await until(async () => told(far, 'started') === 2, 'both run');
  const farBackends = await backends();
  expect(farBackends.length).toBeGreaterThan(2);
  const near = await start(database);

  await network.drop();
  // Its handlers end now, and what completes them gets nowhere.
  far.send('release');
  const noticed = ['session', 'control'].map((name) =>
    far.message(({ type, connection }) => type === 'connection lost' && connection === name, noticedMs),
  );
  await until(
    async () => !(await backends()).some((pid) => farBackends.includes(pid)),
    'the server has let go of the far worker',
    noticedMs,
  );
  await Promise.all(noticed);
  near.send('release');
  expect(await drained(database.pool, 30_000)).toEqual(allOnce(1, 1));
  expect(told(near, 'recovered')).toBe(2);
  await near.kill('SIGKILL');

  const back = ['session', 'control'].map((name) =>
    far.message(({ type, connection }) => type === 'connection restored' && connection === name, 30_000),
  );
  await network.restore();
  await Promise.all(back);
  await until(async () => told(far, 'lost') === 2, 'its outcomes are refused', 30_000);
  await database.pool.query(`insert into tasks (processo, payload) values ('effect', '{}'), ('batch', '{}')`);
  expect(await drained(database.pool)).toEqual(allOnce(2, 2));
  // What happened was said once.
  for (const name of ['session', 'control']) {
    const lines = far.messages.filter(({ text }) => String(text).startsWith(`the ${name} connection`));
    expect(lines.map(({ level }) => level)).toEqual(['error', 'log']);
  }
  far.send('close');
  expect(await far.exit).toEqual({ code: 0, signal: null });
}, 180_000);

const told = (worker: Child, type: string): number =>
  worker.messages.filter((message) => message.type === type).length;

/** Process ids of the server's side of all connections of workers. */
async function backends(): Promise<readonly number[]> {
  const { rows } = await database.pool.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and application_name like 'tarefa%'`,
  );
  return rows.map(({ pid }) => pid);
}
