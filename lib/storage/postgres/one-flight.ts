import type { Client } from 'pg';

/**
 * What is sent on a pipelining connection in this turn leaves as one write: each write is a system call and wakes the
 * server once.
 */
export function inOneFlight({ connection: { stream } }: Client): void {
  stream.cork();
  process.nextTick(() => stream.uncork());
}
