import { runProgram } from './program.js';
import { makeBenchPage } from './report/bench-page.js';
import { scenarios } from './scenarios.js';
import { Servers } from './servers/servers.js';
import { Stage } from './stage.js';

await runProgram<Stage>({
  command: 'npm run bench',
  folder: 'bench',
  scenarios,
  makePage: (lines, notes) => makeBenchPage(lines, scenarios, notes),
  start: async (withRedis) => {
    const servers = await Servers.start({ withRedis });
    const { postgres, redis } = servers;
    return {
      servers,
      environment: {},
      open: ({ topics = 1, payloadBytes }, peer, node, adapter) =>
        Stage.open({ postgres, redis, peer, node, adapter, topics, payloadBytes }),
      stop: () => servers.stop(),
    };
  },
});
