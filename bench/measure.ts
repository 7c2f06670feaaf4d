import { isChosen, type Arguments } from './arguments.js';
import { log } from './command-line.js';
import { describeEnvironment } from './environment.js';
import { compiledFolder, sourceFolder } from './folders.js';
import { mediansOf } from './medians.js';
import { peerOf, products, type Product } from './peers.js';
import { installPeers, peersNode } from './peers-installation.js';
import type { Program } from './program.js';
import { openReporter } from './reporter.js';
import type { ResultLine } from './result-line.js';
import { Runner } from './runner.js';
import type { Scenario } from './scenario.js';

/** Runs what was asked for, prints every line as soon as it is known, and answers them all. */
export async function measure<On extends { close(): Promise<void> }>(
  program: Pick<Program<On>, 'scenarios' | 'start'>,
  asked: Arguments,
): Promise<readonly ResultLine[]> {
  const chosen = choose(program.scenarios, asked);
  const chosenProducts = productsOf(chosen, asked.peers).map((product) => products[product]);
  if (chosenProducts.some(({ compiled }) => !compiled)) installPeers(log);
  const nodes = chooseNodes(asked);

  const { servers, environment, open, stop } = await program.start(
    chosenProducts.some(({ needsRedis }) => needsRedis),
  );
  const { lines, report, close } = openReporter<ResultLine>(asked.out, servers);
  try {
    report({ ...(await describeEnvironment(asked, servers, nodes)), ...environment });
    const runner = new Runner<On>({
      open: (scenario, peer) => {
        const { adapter, compiled } = products[peer.product];
        const url = new URL(adapter, compiled ? compiledFolder : sourceFolder);
        return open(scenario, peer, compiled ? nodes.own : nodes.peers, url.href);
      },
      findLack: ({ product }) =>
        products[product].needsRedis && servers.redis === undefined ? servers.redisNote : undefined,
      report,
    });
    await runner.run(chosen, asked);
    report(mediansOf(lines.filter((line) => line.type === 'run')));
  } finally {
    await stop();
    close();
  }
  return lines;
}

function choose<On>(
  scenarios: readonly Scenario<On>[],
  { quick, scenarios: parts, peers }: Arguments,
): Scenario<On>[] {
  const chosen = scenarios
    .filter((scenario) => (quick && parts.length === 0 ? scenario.quick : isChosen(scenario.name, parts)))
    .filter((scenario) => scenario.peers.some((peer) => isChosen(peer, peers)));
  if (chosen.length === 0) throw new Error('no scenario has such a name and such a peer');
  return chosen;
}

/** Products of which at least one setting is chosen. */
function productsOf(
  chosen: readonly Pick<Scenario, 'peers'>[],
  peers: readonly string[],
): readonly Product[] {
  const names = chosen.flatMap((scenario) => scenario.peers).filter((name) => isChosen(name, peers));
  return [...new Set(names.map((name) => peerOf(name).product))];
}

/** Which Node.js runs this library and the bare loop, and which the peers. */
function chooseNodes({ node }: Arguments): {
  readonly own: string;
  readonly peers: string;
} {
  const installed = peersNode();
  if (installed === undefined && node === '24') {
    log(`bench/peers is not installed: this runs on Node.js ${process.version}, not on 24 like the peers`);
  }
  const peers = installed ?? process.execPath;
  return { own: node === '24' ? peers : process.execPath, peers };
}
