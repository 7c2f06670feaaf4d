import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time for programs in hundredths of a second, on every machine. */
const ticksPerSecond = 100;

/** CPU seconds of a process and of all its children, ended ones included; undefined where there is no /proc. */
export function familyCpuSeconds(pid: number): number | undefined {
  // A child that ends meanwhile would be counted twice or not at all, so this looks again then.
  for (let looks = 1; ; looks += 1) {
    const before = readStat(pid);
    const children = childrenOf(pid).reduce((ticks, { user, system }) => ticks + user + system, 0);
    const after = readStat(pid);
    if (before === undefined || after === undefined) return undefined;
    if (before.endedChildren !== after.endedChildren && looks < 10) continue;
    return (after.user + after.system + after.endedChildren + children) / ticksPerSecond;
  }
}

/**
 * MB of memory that a process and its children have, what several share divided among them; undefined where there is no /proc of
 * Linux.
 */
export function familyMemoryMb(pid: number): number | undefined {
  const own = memoryMb(pid);
  return own && childrenOf(pid).reduce((sum, child) => sum + (memoryMb(child.pid) ?? 0), own);
}

function memoryMb(pid: number): number | undefined {
  const kilobytes = /^Pss:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/smaps_rollup`) ?? '')?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}

function childrenOf(pid: number): Stat[] {
  return processIds().flatMap((other) => {
    const stat = readStat(other);
    return stat?.parent === pid ? [stat] : [];
  });
}

function processIds(): number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

/** CPU seconds that the whole machine was busy, others' time of a virtual machine (steal) included. */
export function machineCpuSeconds(): number | undefined {
  const line = readText('/proc/stat')?.split('\n')[0];
  if (line === undefined) return undefined;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softIrq + steal) / ticksPerSecond;
}

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly user: number;
  readonly system: number;
  readonly endedChildren: number;
}

function readStat(pid: number): Stat | undefined {
  const text = readText(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The name before the last parenthesis may hold anything; state and parent follow it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const at = (index: number): number => Number(fields[index]);
  return { pid, parent: at(1), user: at(11), system: at(12), endedChildren: at(13) + at(14) };
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}
