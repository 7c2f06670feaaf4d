import { startOn } from '../../../lib/embedded/start-on.js';
import { thisMachine } from '../../../lib/embedded/machine.js';

/**
 * Uses the embedded server in the folder of the first argument, with the second as the only shared folder, until
 * it is told how to end: `stop` properly, `exit` or `throw` without stopping, `rounds` of starting and stopping.
 */
const [dataDir = '', sharedFolder = '', rounds = '1'] = process.argv.slice(2);
const machine = { ...thisMachine, sharedFolders: [sharedFolder] };
const lines: string[] = [];

const start = () => startOn(machine, { dataDir, log: (line) => lines.push(line) });

for (let round = 1; round < Number(rounds); round++) await (await start()).stop();

const server = await start();
const { url, port } = server;
process.send?.({ type: 'started', url, port, data: server.dataDir, lines });

process.on('message', (message) => {
  if (message === 'stop') void server.stop().then(() => process.disconnect());
  if (message === 'exit') process.exit(3);
  if (message === 'throw') throw new Error('a mistake in the application');
});
