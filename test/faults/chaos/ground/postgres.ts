import { startCluster } from '../../kit/cluster.js';
import { postgresNetworkFaults } from '../nemesis/network.js';
import { postgresFaults } from '../nemesis/postgres-server.js';
import { serverFaults } from '../nemesis/server.js';
import { mostConnections } from '../oracles/resources.js';
import { createJudgesTables } from '../schema.js';
import type { Ground } from './ground.js';
import { postgresClients } from './postgres-clients.js';
import { patiently, postgresQuestions } from './postgres-questions.js';

const serverSettings = {
  max_connections: '200',
  shared_buffers: '128MB',
  // A run writes some hundred MB: old log goes early, and recovery after a crash is short.
  max_wal_size: '256MB',
  checkpoint_timeout: '30s',
};

/** Starts a PostgreSQL for a run. */
export async function openPostgres(): Promise<Ground> {
  const cluster = await startCluster({ settings: serverSettings });
  try {
    const { url, pool } = await cluster.createDatabase();
    return {
      title: 'PostgreSQL',
      url,
      get isUp() {
        return cluster.pid !== undefined;
      },
      start: () => cluster.start(),
      restart: () => cluster.restart('fast'),
      crash: () => cluster.crash(),
      clients: postgresClients(pool),
      ask: postgresQuestions(pool),
      faults: [
        ...postgresFaults(pool, patiently),
        ...serverFaults('PostgreSQL', 'restart PostgreSQL (fast)'),
        ...postgresNetworkFaults,
      ],
      mostConnections,
      createJudgesTables: () => createJudgesTables(pool),
      evidence: async () => pool,
      stop: () => cluster.stop(),
    };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}
