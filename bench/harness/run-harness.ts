import { isChosen } from '../arguments.js';
import { describeEnvironment } from '../environment.js';
import { installPeers, peersNode } from '../peers-installation.js';
import { openReporter } from '../reporter.js';
import { Servers } from '../servers/servers.js';
import type { HarnessArguments } from './arguments.js';
import type { HarnessLine } from './harness-line.js';
import { cells } from './runner/cells.js';
import { judge } from './runner/judge.js';
import { runCell } from './runner/run-cell.js';
import { systems, type System } from './systems.js';

/** As in the harness's postgres.conf; what it leaves at PostgreSQL's default is left here as well. */
const settings = {
  max_connections: '400',
  shared_buffers: '256MB',
  work_mem: '8MB',
  maintenance_work_mem: '128MB',
};

/** Runs the chosen scenarios, one system after another in each, and prints every line as soon as it is known. */
export async function runHarness(
  asked: HarnessArguments,
  log: (line: string) => void,
): Promise<readonly HarnessLine[]> {
  const chosenCells = cells.filter(({ name, suite }) => isChosen(`${suite} ${name}`, asked.phases));
  const chosenSystems = (Object.keys(systems) as System[]).filter((name) => isChosen(name, asked.systems));
  if (chosenCells.length === 0 || chosenSystems.length === 0)
    throw new Error('no scenario or no system has such a name');
  if (chosenSystems.some((name) => systems[name].module !== undefined)) installPeers(log);
  const node = peersNode() ?? process.execPath;

  const servers = await Servers.start({ withRedis: false, settings });
  const { lines, report, close } = openReporter<HarnessLine>(asked.out, servers);
  try {
    report(await describeEnvironment({ quick: asked.quick, runs: 1 }, servers, { own: node, peers: node }));
    for (const cell of chosenCells) {
      for (const system of chosenSystems) {
        log(`${cell.name}: ${system}`);
        const line = await runCell(cell, system, {
          ...{ postgres: servers.postgres, quick: asked.quick, log },
          node: () => node,
        });
        report(line);
        const verdict = judge(line);
        if (verdict !== undefined) log(`  ${verdict.passed ? 'passed' : 'FAILED'}: ${verdict.why}`);
      }
    }
  } finally {
    await servers.stop();
    close();
  }
  return lines;
}
