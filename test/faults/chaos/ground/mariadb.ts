import { createPool } from 'mysql2/promise';
import { startMysqlCluster } from '../../kit/mysql-cluster.js';
import { startFakeClock } from '../../kit/fake-clock.js';
import { mariadbActions, usualLimit } from '../nemesis/mariadb-actions.js';
import { mariadbFaults } from '../nemesis/mariadb-server.js';
import { mysqlNetworkFaults } from '../nemesis/network.js';
import { clockKind } from '../nemesis/server-clock.js';
import { serverFaults } from '../nemesis/server.js';
import type { Ground } from './ground.js';
import { copyForJudges, type JudgesCopy } from './judges-copy.js';
import { mariadbQuestions } from './mariadb-questions.js';
import { createMariadbTables } from './mariadb-tables.js';
import { mysqlWork } from './mysql-clients.js';

const database = 'chaos';
/** Has no rights beyond the database, as the user of an application has none. */
const workerUser = 'application';

const serverSettings = [
  // Tells by which name a session connected.
  'performance-schema=ON',
  // Of handlers' connections, which are not told otherwise.
  'innodb-lock-wait-timeout=2',
  `max-user-connections=${usualLimit}`,
];

/** Starts a MariaDB for a run. */
export async function openMariadb(wants: (kind: string) => boolean): Promise<Ground> {
  const clock = wants(clockKind) ? await startFakeClock() : undefined;
  const server = await startMysqlCluster('mariadb', serverSettings, clock?.env);
  let copy: JudgesCopy | undefined;
  try {
    const admin = new URL(server.url);
    admin.pathname = `/${database}`;
    const pool = createPool({
      uri: server.url,
      database,
      timezone: 'Z',
      dateStrings: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
      connectTimeout: 10_000,
      connectionLimit: 20,
    });
    pool.on('connection', (connection) => connection.on('error', () => undefined));
    const setUp = createPool({ uri: server.url, multipleStatements: true });
    await setUp.query(
      `create database ${database}; create user ${workerUser}@'127.0.0.1';
       grant all privileges on ${database}.* to ${workerUser}@'127.0.0.1'`,
    );
    await setUp.end();
    const url = new URL(admin);
    url.username = workerUser;
    const clients = mysqlWork.openClients({ url: admin.href, max: 20, connectMs: 10_000 });
    let stopped: Promise<void> | undefined;
    return {
      title: 'MariaDB',
      url: url.href,
      get isUp() {
        return server.pid !== undefined;
      },
      start: () => server.start(),
      restart: async () => {
        await server.shutDown();
        await server.start();
      },
      crash: () => server.crash(),
      clients,
      ask: mariadbQuestions(pool, database, workerUser),
      faults: [
        ...mariadbFaults(pool, workerUser),
        ...serverFaults('MariaDB'),
        ...mysqlNetworkFaults,
        ...mariadbActions({ pool, user: workerUser, url: url.href, clock }),
      ],
      // Session, sleeper, two for claims, handlers', its own, and those of the workload.
      mostConnections: (poolSize) => 4 + poolSize + 4 + 4,
      createJudgesTables: async () => {
        await createMariadbTables(pool);
        await pool.query('create sequence refusals nocache');
      },
      evidence: async () => {
        copy = await copyForJudges(pool);
        return copy.db;
      },
      stop: () => {
        stopped ??= (async () => {
          await Promise.allSettled([pool.end(), clients.end()]);
          await copy?.stop();
          await server.stop();
          await clock?.stop();
        })();
        return stopped;
      },
    };
  } catch (error) {
    await server.stop();
    await clock?.stop();
    throw error;
  }
}
