import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Connection } from 'mysql2';
import {
  endProcessIn,
  limitHandler,
  type LeaseOrders,
  type LeaseReport,
  type ProcessGuard,
} from '../../../coordination/lease-protocol.js';
import { dialectOf } from '../singlestore/singlestore-dialect.js';
import { isCancelled, renewLease } from '../statements/workers.js';
import { connectWithin, withAnswerLimit } from './answer-limit.js';
import { ask } from './answers.js';
import type { LeaseDatabase } from './lease-orders.js';
import { loadMysql2 } from './mysql-package.js';

/**
 * Runs in a thread of its own, so that a handler that blocks the event loop loses no lease: renews it until it is told to stop.
 */
const { database, workerId, renewMs, leaseMs, renewedAt, wasLost, guard } = workerData as LeaseOrders;
const { config, workers, queue, dialect: dialectName = 'mysql' } = database as LeaseDatabase;
const dialect = dialectOf(dialectName);
const mysql = await loadMysql2();
const renewed = new BigInt64Array(renewedAt);
const stopping = new AbortController();
let connection: Connection | undefined;
let failing = wasLost;
let isEnding = false;

parentPort?.on('message', () => stopping.abort());
if (guard) limitHandler(guard);
while (!stopping.signal.aborted) {
  await renew();
  await pause(renewMs, undefined, { signal: stopping.signal }).catch(() => undefined);
}
if (connection) await sayGoodbye(connection);
parentPort?.close();

async function renew(): Promise<void> {
  // A moment before the server's: a lease that is trusted too long would claim what others recover.
  const sentAt = process.hrtime.bigint();
  try {
    connection ??= await connect();
    const { text, values } = dialect.write(renewLease({ workers }), [leaseMs, workerId]);
    const renewal = ask(connection, text, values);
    // An answer that does not come in time is a lease that is not renewed.
    const [answer] = await withAnswerLimit(connection, renewal, leaseMs / 2);
    if (answer?.changed === 0) throw new Error(`the row of worker ${workerId} is gone from ${workers}`);
    Atomics.store(renewed, 0, sentAt);
    if (guard) await obeyCancellation(guard);
    if (failing) report({ type: 'restored' });
    failing = false;
  } catch (error) {
    connection?.destroy();
    connection = undefined;
    failing = true;
    report({ type: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
  }
}

async function obeyCancellation(cancelling: ProcessGuard): Promise<void> {
  if (!connection || isEnding) return;
  const { text, values } = dialect.write(isCancelled({ queue }), [workerId]);
  const [answer] = await withAnswerLimit(connection, ask(connection, text, values), leaseMs / 2);
  if (Number(answer?.rows[0]?.['cancelled']) !== 1) return;
  isEnding = true;
  endProcessIn(cancelling.cancelGraceMs, cancelling);
}

async function connect(): Promise<Connection> {
  const opened = mysql.createConnection({ ...config, connectTimeout: leaseMs / 2 });
  opened.on('error', () => undefined);
  try {
    await connectWithin(opened, leaseMs / 2);
    await withAnswerLimit(opened, ask(opened, dialect.settings.own), leaseMs / 2);
  } catch (error) {
    opened.destroy();
    throw error;
  }
  return opened;
}

function sayGoodbye(last: Connection): Promise<void> {
  return new Promise((resolve) => last.end(() => resolve()));
}

function report(message: LeaseReport): void {
  parentPort?.postMessage(message);
}
