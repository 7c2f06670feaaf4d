import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { until } from '../../support/waiting.js';

const run = promisify(execFile);

/** Two networks of this machine alone, joined by one cable: a server's and a worker's. */
export interface TwoNetworks {
  /** Address of the server's end of the cable. */
  readonly serverAddress: string;
  /** Runs a server there: as `user` when this process is root, else as ourselves. */
  readonly serverLauncher: (
    user: { readonly uid: number; readonly gid: number } | undefined,
  ) => readonly string[];
  /** Runs a worker at the other end. */
  readonly workerLauncher: readonly string[];
  /** From now on every packet in between is dropped, and nobody is told. */
  readonly drop: () => Promise<void>;
  /** Packets get through again. */
  readonly restore: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const server = { address: '10.83.0.1', device: 'tarefa-s', hardware: '02:00:00:00:83:01' };
const worker = { address: '10.83.0.2', device: 'tarefa-w', hardware: '02:00:00:00:83:02' };
const nobody = '02:00:00:00:83:99';

/** Joins two networks; undefined where the machine does not let us make any, with the reason told to `explain`. */
export async function joinNetworks(explain: (reason: string) => void): Promise<TwoNetworks | undefined> {
  const holders: ChildProcess[] = [];
  try {
    return await join(holders);
  } catch (error) {
    for (const holder of holders) holder.kill('SIGKILL');
    explain(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/** A network lives as long as a process in it, so one sleeps in each. */
async function join(holders: ChildProcess[]): Promise<TwoNetworks> {
  const isRoot = process.getuid?.() === 0;
  const hold = async (...command: string[]): Promise<number> => {
    const [program = '', ...args] = command;
    const holder = spawn(program, [...args, '--net', 'sleep', 'infinity'], { stdio: 'ignore' });
    holders.push(holder);
    let failure: Error | undefined;
    holder.once('error', (error) => (failure = error));
    holder.once('exit', (code) => (failure ??= new Error(`${program} ended with code ${code}`)));
    return until(
      async () => {
        if (failure) throw failure;
        return holder.pid !== undefined && isInside(holder.pid) && holder.pid;
      },
      'a network is made',
      5_000,
    );
  };
  // An ordinary user is allowed to make networks in a user namespace of his, where he counts as root.
  const outer = await hold('unshare', ...(isRoot ? [] : ['--user', '--map-root-user']));
  const enter = (pid: number): string[] => [
    ...['nsenter', `--target=${pid}`, '--net'],
    ...(isRoot ? [] : ['--user', '--preserve-credentials']),
  ];
  const inner = await hold(...enter(outer), 'unshare');

  const ip = async (pid: number, command: string): Promise<void> => {
    const [program = '', ...args] = [...enter(pid), 'ip', ...command.split(' ')];
    await run(program, args);
  };
  await ip(
    outer,
    `link add ${server.device} address ${server.hardware} type veth peer name ${worker.device} address ${worker.hardware}`,
  );
  await ip(outer, `link set ${worker.device} netns ${inner}`);
  for (const [pid, end] of [
    [outer, server],
    [inner, worker],
  ] as const) {
    await ip(pid, `address add ${end.address}/24 dev ${end.device}`);
    await ip(pid, `link set ${end.device} up`);
    await ip(pid, 'link set lo up');
  }
  /** What is sent to a hardware address that nobody has is lost, and neither side is told. */
  const address = async (toWorker: string, toServer: string): Promise<void> => {
    await ip(outer, `neigh replace ${worker.address} lladdr ${toWorker} nud permanent dev ${server.device}`);
    await ip(inner, `neigh replace ${server.address} lladdr ${toServer} nud permanent dev ${worker.device}`);
  };
  await address(worker.hardware, server.hardware);
  return {
    serverAddress: server.address,
    serverLauncher: (user) => [
      ...enter(outer),
      // PostgreSQL refuses to run as root, which is what we count as in there.
      ...(user === undefined
        ? ['unshare', '--user', `--map-user=${process.getuid?.()}`]
        : ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']),
    ],
    workerLauncher: enter(inner),
    drop: () => address(nobody, nobody),
    restore: () => address(worker.hardware, server.hardware),
    close: async () => {
      for (const holder of holders) {
        const ended = new Promise((resolve) => holder.once('exit', resolve));
        if (holder.exitCode === null && holder.kill('SIGKILL')) await ended;
      }
    },
  };
}

/** Whether that process sleeps in a network that is not ours. */
function isInside(pid: number): boolean {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return (
      command.startsWith('sleep') && readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net')
    );
  } catch {
    return false;
  }
}
