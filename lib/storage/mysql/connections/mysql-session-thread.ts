import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Backoff } from '../../../timing/backoff.js';
import { loadMysql2 } from './mysql-package.js';
import { SessionLocks } from './mysql-session-locks.js';
import {
  readError,
  sendError,
  type SessionMessage,
  type SessionOrders,
  type SessionQuestion,
  type SessionReport,
} from './mysql-session-protocol.js';

/**
 * Runs in a thread of its own, so that a handler that blocks the event loop loses no lock. The server frees the locks of a session
 * that says nothing: so it is told again and again, until this is told to stop.
 */
const { config, timing, provenAt, lasting } = workerData as SessionOrders;
const proven = new BigInt64Array(provenAt);
const stopping = new AbortController();
const backoff = new Backoff({ firstMs: 100, mostMs: 2_000 });
let isUp = false;

const lost = (error: unknown): void => {
  isUp = false;
  Atomics.store(proven, 0, 0n);
  if (!stopping.signal.aborted) report({ type: 'lost', error: sendError(error) });
};
const locks = new SessionLocks(await loadMysql2(), config, timing.silentSeconds, lasting, lost);

parentPort?.on('message', (message: SessionMessage) => {
  if (message === 'stop') {
    backoff.cancel();
    return stopping.abort();
  }
  if ('leave' in message) locks.leave(readError(message.leave));
  else void answer(message);
});

try {
  await open();
  report({ type: 'opened' });
} catch (error) {
  stopping.abort();
  report({ type: 'failed', error: sendError(error) });
}
while (!stopping.signal.aborted) {
  if (isUp) await prove().catch(() => undefined);
  else await reopen();
  if (isUp) await pause(timing.proofMs, undefined, { signal: stopping.signal }).catch(() => undefined);
}
await locks.close();
parentPort?.close();

async function open(): Promise<void> {
  // A moment before the server's: a lock that is trusted too long would claim what others recover.
  const sentAt = process.hrtime.bigint();
  await locks.open();
  Atomics.store(proven, 0, sentAt);
  isUp = true;
}

async function prove(): Promise<void> {
  const sentAt = process.hrtime.bigint();
  await locks.prove();
  Atomics.store(proven, 0, sentAt);
}

async function reopen(): Promise<void> {
  await backoff.wait();
  if (stopping.signal.aborted) return;
  try {
    await open();
    backoff.reset();
    report({ type: 'restored' });
  } catch (error) {
    // The next try waits longer.
    report({ type: 'stillLost', error: sendError(error) });
  }
}

async function answer({ id, ask, name }: SessionQuestion): Promise<void> {
  try {
    const done = (await locks[ask](name)) !== false;
    report({ type: 'answer', id, done });
  } catch (error) {
    report({ type: 'answer', id, done: false, error: sendError(error) });
  }
}

function report(message: SessionReport): void {
  parentPort?.postMessage(message);
}
