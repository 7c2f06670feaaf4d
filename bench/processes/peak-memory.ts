import { readFileSync } from 'node:fs';

/**
 * The most memory that this process has had resident. `maxRSS` starts at that of the process that forked this one, so it
 * counts only where there is no /proc.
 */
export function peakRssBytes(): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readStatus())?.[1];
  return kilobytes === undefined ? process.resourceUsage().maxRSS * 1024 : Number(kilobytes) * 1024;
}

function readStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'latin1');
  } catch {
    return '';
  }
}
