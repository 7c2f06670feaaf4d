import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { insertEffect, type Payload } from '../protocol.js';
import { claim, complete, completeMany } from './sql.js';

interface Row {
  readonly id: string;
  readonly reserva: number;
  readonly payload: string;
}

const emptyPauseMs = 5;
const groupSize = 50;
/** Claimed rows below which the next ones are fetched. */
const lowWater = 250;

/** Claims in batches on one connection, before the last batch is used up, and hands the rows out. */
export class Feed {
  readonly #client: Client;
  #rows: Row[] = [];
  #fetching: Promise<void> | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  /** At least one row, at most `most`. */
  async take(most: number): Promise<Row[]> {
    while (this.#rows.length === 0) await this.#refill();
    const rows = this.#rows.splice(0, most);
    if (this.#rows.length < lowWater) void this.#refill();
    return rows;
  }

  #refill(): Promise<void> {
    this.#fetching ??= this.#fetch().finally(() => (this.#fetching = undefined));
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    const { rows } = await this.#client.query<Row>(claim);
    this.#rows.push(...rows);
    if (rows.length === 0) await pause(emptyPauseMs);
  }
}

/**
 * One transaction per task on a pipelined connection, in two round trips like the library: BEGIN travels with the
 * handler's statement, the completion with COMMIT.
 */
export async function workInTransactions(
  client: Client,
  feed: Feed,
  started: (payload: Payload) => void,
): Promise<never> {
  for (;;) {
    for (const { id, reserva, payload } of await feed.take(1)) {
      const task = JSON.parse(payload) as Payload;
      started(task);
      const begun = client.query('begin');
      await Promise.all([begun, client.query(insertEffect, [task.i])]);
      const completed = client.query({ ...complete, values: [id, reserva] });
      await Promise.all([completed, client.query('commit')]);
    }
  }
}

/** One transaction per 50 tasks on a pipelined connection, with a savepoint before each task's statement. */
export async function workInGroups(
  client: Client,
  feed: Feed,
  started: (payload: Payload) => void,
): Promise<never> {
  for (;;) {
    const rows = await feed.take(groupSize);
    const sent: Promise<unknown>[] = [client.query('begin')];
    for (const { payload } of rows) {
      const task = JSON.parse(payload) as Payload;
      started(task);
      sent.push(client.query('savepoint task'));
      const effect = client.query(insertEffect, [task.i]);
      sent.push(effect);
      // A handler waits for its own statement before the next one begins.
      await effect;
    }
    sent.push(client.query({ ...completeMany, values: [rows.map(({ id }) => id)] }), client.query('commit'));
    await Promise.all(sent);
  }
}
