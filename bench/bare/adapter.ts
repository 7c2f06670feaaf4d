import { setTimeout as pause } from 'node:timers/promises';
import { Client, Pool } from 'pg';
import type { Adapter, OpenAdapter } from '../protocol.js';
import { isDone } from '../tarefa/is-done.js';
import { openQueue } from '../tarefa/queue.js';
import { workInBatches, type Idle } from './batches.js';
import { channel, insert, insertAndNotify, insertMany, quiet, sessionSettings } from './sql.js';
import { Feed, workInGroups, workInTransactions } from './transactions.js';

const batchConnections = 2;
const transactionConnections = 16;
const groupConnections = 4;
const emptyPauseMs = 5;
/** With notifications, how long it waits for one at most. */
const longestWaitMs = 1_000;

/**
 * The floor: what SQL and the driver cost on the library's own table. Settings: `default`, and `notify`, which rings
 * at each insert and waits for rings.
 */
const open: OpenAdapter = ({ database: url, setting }): Adapter => {
  const rings = setting === 'notify';
  const connect = async (pipeline = false): Promise<Client> => {
    const client = new Client({ connectionString: url, pipeline });
    await client.connect();
    await client.query(sessionSettings);
    return client;
  };

  return {
    setup: async () => {
      const queue = await openQueue(url, [], { worker: false });
      await queue.close();
    },
    producer: async (connections) => {
      const pool = new Pool({ connectionString: url, max: connections, options: quiet });
      const one = rings ? insertAndNotify : insert;
      return {
        one: (payload) => pool.query({ ...one, values: [JSON.stringify(payload)] }),
        many: (payloads) => pool.query({ ...insertMany, values: [JSON.stringify(payloads)] }),
        // The user's connection is not quiet: the table's trigger rings, as for any program that inserts.
        within: (client, payload) => client.query({ ...insert, values: [JSON.stringify(payload)] }),
        close: () => pool.end(),
      };
    },
    work: async (kind, started) => {
      if (kind === 'empty') {
        const idle: Idle = rings ? await ringing(await connect()) : () => pause(emptyPauseMs);
        await repeat(rings ? 1 : batchConnections, async () => workInBatches(await connect(), started, idle));
      } else if (kind === 'write') {
        const feed = new Feed(await connect());
        const grouped = setting === 'grouped';
        const work = grouped ? workInGroups : workInTransactions;
        const connections = grouped ? groupConnections : transactionConnections;
        await repeat(connections, async () => work(await connect(true), feed, started));
      } else throw new Error(`the bare loop cannot ${kind}`);
    },
    isDone: () => isDone(url),
  };
};

export default open;

/** Runs loops that never end by themselves; one that fails ends the process. */
async function repeat(count: number, loop: () => Promise<never>): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    loop().catch((error: unknown) => {
      process.stderr.write(`bare: ${String(error)}\n`);
      process.exit(1);
    });
  }
}

/** Waits for the next notification. One that comes between two waits is remembered. */
async function ringing(client: Client): Promise<Idle> {
  let rung = false;
  let wake: () => void = () => undefined;
  client.on('notification', () => {
    rung = true;
    wake();
  });
  await client.query(`listen ${channel}`);
  return async () => {
    if (!rung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, longestWaitMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    rung = false;
  };
}
