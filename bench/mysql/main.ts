import { runProgram } from '../program.js';
import { MariadbServer } from '../servers/mariadb-server.js';
import { Servers } from '../servers/servers.js';
import { makeMysqlPage } from './mysql-page.js';
import { MysqlStage } from './mysql-stage.js';
import { mysqlScenarios } from './scenarios.js';

await runProgram<MysqlStage>({
  command: 'npm run bench:mysql',
  folder: 'bench/mysql',
  scenarios: mysqlScenarios,
  makePage: makeMysqlPage,
  start: async (withRedis) => {
    const mariadb = await MariadbServer.start();
    try {
      const servers = await Servers.start({ withRedis });
      const { postgres, redis } = servers;
      return {
        servers,
        environment: { mariadb: await mariadb.settings() },
        open: (_, peer, node, adapter) =>
          MysqlStage.open({ mariadb, postgres, redisPort: redis?.port, peer, node, adapter }),
        stop: async () => {
          await servers.stop();
          await mariadb.stop();
        },
      };
    } catch (error) {
      await mariadb.stop();
      throw error;
    }
  },
});
