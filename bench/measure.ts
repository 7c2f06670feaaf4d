import { createWriteStream } from 'node:fs';
import { isChosen, type Arguments } from './arguments.js';
import { describeEnvironment } from './environment.js';
import { mediansOf } from './medians.js';
import { peerOf, products, type Product } from './peers.js';
import { installPeers, peersNode } from './peers-installation.js';
import type { ResultLine } from './result-line.js';
import { Runner } from './runner.js';
import type { Scenario } from './scenario.js';
import { Servers } from './servers/servers.js';

/** Runs what was asked for, prints every line as soon as it is known, and answers them all. */
export async function measure(
  scenarios: readonly Scenario[],
  asked: Arguments,
  log: (line: string) => void,
): Promise<readonly ResultLine[]> {
  const chosen = choose(scenarios, asked);
  const chosenProducts = productsOf(chosen, asked.peers).map((product) => products[product]);
  if (chosenProducts.some(({ compiled }) => !compiled)) installPeers(log);
  const nodes = chooseNodes(asked, log);

  const servers = await Servers.start({ withRedis: chosenProducts.some(({ needsRedis }) => needsRedis) });
  const lines: ResultLine[] = [];
  const file = asked.out === undefined ? undefined : createWriteStream(asked.out);
  const report = (line: ResultLine): void => {
    // What fails because its servers are being stopped is no result.
    if (servers.stopping) return;
    lines.push(line);
    process.stdout.write(`${JSON.stringify(line)}\n`);
    file?.write(`${JSON.stringify(line)}\n`);
  };
  try {
    report(await describeEnvironment(asked, servers, nodes));
    const { postgres, redis } = servers;
    const nodeOf = (product: Product): string => (products[product].compiled ? nodes.own : nodes.peers);
    await new Runner({ postgres, redis, nodeOf, report }).run(chosen, asked);
    report(mediansOf(lines.filter((line) => line.type === 'run')));
  } finally {
    await servers.stop();
    file?.end();
  }
  return lines;
}

function choose(scenarios: readonly Scenario[], { quick, scenarios: parts, peers }: Arguments): Scenario[] {
  const chosen = scenarios
    .filter((scenario) => (quick && parts.length === 0 ? scenario.quick : isChosen(scenario.name, parts)))
    .filter((scenario) => scenario.peers.some((peer) => isChosen(peer, peers)));
  if (chosen.length === 0) throw new Error('no scenario has such a name and such a peer');
  return chosen;
}

/** Products of which at least one setting is chosen. */
function productsOf(chosen: readonly Scenario[], peers: readonly string[]): readonly Product[] {
  const names = chosen.flatMap((scenario) => scenario.peers).filter((name) => isChosen(name, peers));
  return [...new Set(names.map((name) => peerOf(name).product))];
}

/** Which Node.js runs this library and the bare loop, and which the peers. */
function chooseNodes(
  { node }: Arguments,
  log: (line: string) => void,
): { readonly own: string; readonly peers: string } {
  const installed = peersNode();
  if (installed === undefined && node === '24') {
    log(`bench/peers is not installed: this runs on Node.js ${process.version}, not on 24 like the peers`);
  }
  const peers = installed ?? process.execPath;
  return { own: node === '24' ? peers : process.execPath, peers };
}
