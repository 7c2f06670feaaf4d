import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Client } from 'pg';
import type { LeaseOrders, LeaseReport } from '../../../coordination/lease-protocol.js';
import { renewLease } from '../statements/workers.js';
import type { LeaseDatabase } from './lease-orders.js';
import { Sockets } from './sockets.js';

/**
 * Runs in a thread of its own, so that a handler that blocks the event loop loses no lease: renews it until it
 * is told to stop.
 */
const { database, workerId, renewMs, leaseMs, renewedAt, wasLost } = workerData as LeaseOrders;
const { config, workers } = database as LeaseDatabase;
const renewed = new BigInt64Array(renewedAt);
const stopping = new AbortController();
const sockets = new Sockets();
let client: Client | undefined;
let troubled = wasLost;

parentPort?.on('message', () => stopping.abort());
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
    if (troubled) report({ type: 'restored' });
    troubled = false;
  } catch (error) {
    const broken = client;
    client = undefined;
    void broken?.end().catch(() => undefined);
    troubled = true;
    report({ type: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
  }
}

async function connect(): Promise<Client> {
  // An answer that does not come in time is a lease that is not renewed.
  const opened = new Client({
    stream: sockets.open,
    ...config,
    query_timeout: leaseMs / 2,
    connectionTimeoutMillis: leaseMs / 2,
  });
  opened.on('error', () => {
    if (client === opened) client = undefined;
  });
  await opened.connect();
  return opened;
}

function report(message: LeaseReport): void {
  parentPort?.postMessage(message);
}
