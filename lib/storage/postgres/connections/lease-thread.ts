import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Client } from 'pg';
import {
  endProcessIn,
  limitHandler,
  type LeaseOrders,
  type LeaseReport,
  type LeaseWord,
  type ProcessGuard,
} from '../../../coordination/lease-protocol.js';
import { isCancelled, renewLease } from '../statements/workers.js';
import type { LeaseDatabase } from './lease-orders.js';
import { Sockets } from './sockets.js';

/** How long to wait for a password. */
const passwordMs = 2_000;

/**
 * Runs in a thread of its own, so that a handler that blocks the event loop loses no lease: renews it until it
 * is told to stop.
 */
const orders = workerData as LeaseOrders;
const { database, workerId, renewMs, leaseMs, renewedAt, wasLost, guard } = orders;
const { config, workers, queue } = database as LeaseDatabase;
const renewed = new BigInt64Array(renewedAt);
const stopping = new AbortController();
const sockets = new Sockets();
let client: Client | undefined;
let failing = wasLost;
let isEnding = false;
/** The last one that was given; undefined where it stands in the configuration. */
let { password } = orders;
let isFirstConnection = true;
let hearAnswer: ((answer: LeaseWord) => void) | undefined;

parentPort?.on('message', (word: LeaseWord) => {
  if (word.type === 'stop') stopping.abort();
  if (word.type === 'password') ({ password } = word);
  hearAnswer?.(word);
});
if (guard) limitHandler(guard);
while (!stopping.signal.aborted) {
  await renew();
  await pause(renewMs, undefined, { signal: stopping.signal }).catch(() => undefined);
}
await client?.end().catch(() => undefined);
parentPort?.close();

async function renew(): Promise<void> {
  // A moment before the server's: a lease that is trusted too long would claim what others recover.
  const sentAt = process.hrtime.bigint();
  try {
    client ??= await connect();
    const { rowCount } = await client.query(renewLease({ workers }), [workerId, leaseMs]);
    if (rowCount === 0) throw new Error(`the row of worker ${workerId} is gone from ${workers}`);
    Atomics.store(renewed, 0, sentAt);
    if (guard) await obeyCancellation(guard);
    if (failing) report({ type: 'restored' });
    failing = false;
  } catch (error) {
    const broken = client;
    client = undefined;
    void broken?.end().catch(() => undefined);
    failing = true;
    report({ type: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
  }
}

async function obeyCancellation(cancelling: ProcessGuard): Promise<void> {
  const rows = (await client?.query<{ cancelled: boolean }>(isCancelled({ queue }), [workerId]))?.rows;
  if (rows?.[0]?.cancelled !== true || isEnding) return;
  isEnding = true;
  endProcessIn(cancelling.cancelGraceMs, cancelling);
}

async function connect(): Promise<Client> {
  // An answer that does not come in time is a lease that is not renewed.
  const opened = new Client({
    stream: sockets.open,
    ...config,
    ...(password !== undefined && { password: nextPassword }),
    query_timeout: leaseMs / 2,
    connectionTimeoutMillis: leaseMs / 2,
  });
  opened.on('error', () => {
    if (client === opened) client = undefined;
  });
  await opened.connect();
  return opened;
}

/** That of the start, then a new one each time; the last one while the event loop is blocked that would have to give it. */
async function nextPassword(): Promise<string> {
  if (!isFirstConnection) {
    const answered = new Promise<LeaseWord>((resolve) => (hearAnswer = resolve));
    report({ type: 'password wanted' });
    const answer = await Promise.race([answered, pause(passwordMs)]);
    if (answer?.type === 'no password') throw answer.error;
  }
  isFirstConnection = false;
  return password ?? '';
}

function report(message: LeaseReport): void {
  parentPort?.postMessage(message);
}
