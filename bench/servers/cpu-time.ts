import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time for programs in hundredths of a second, on every machine. */
const ticksPerSecond = 100;

/** CPU seconds of a process and of all its children, ended ones included; undefined where there is no /proc. */
export function familyCpuSeconds(pid: number): number | undefined {
  // A child that ends meanwhile would be counted twice or not at all, so this looks again then.
  for (let looks = 1; ; looks += 1) {
    const before = readStat(pid);
    const children = childrenTicks(pid);
    const after = readStat(pid);
    if (before === undefined || after === undefined) return undefined;
    if (before.endedChildren !== after.endedChildren && looks < 10) continue;
    return (after.user + after.system + after.endedChildren + children) / ticksPerSecond;
  }
}

function childrenTicks(pid: number): number {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? readStat(Number(name)) : undefined;
    if (stat?.parent === pid) ticks += stat.user + stat.system;
  }
  return ticks;
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
  return { parent: at(1), user: at(11), system: at(12), endedChildren: at(13) + at(14) };
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}
