import type { Client } from 'pg';
import type { Payload } from '../protocol.js';
import { completeAndClaim } from './sql.js';

const deadlock = '40P01';

interface Row {
  readonly id: string;
  readonly payload: string;
}

/** Waits until a new look may find something. */
export type Idle = () => Promise<void>;

/** One connection that completes a batch and claims the next in one statement, for ever. */
export async function workInBatches(
  client: Client,
  started: (payload: Payload) => void,
  idle: Idle,
): Promise<never> {
  let ids: string[] = [];
  for (;;) {
    const rows = await advance(client, ids);
    for (const { payload } of rows) started(JSON.parse(payload) as Payload);
    if (rows.length === 0 && ids.length === 0) await idle();
    ids = rows.map(({ id }) => id);
  }
}

async function advance(client: Client, ids: readonly string[]): Promise<readonly Row[]> {
  for (;;) {
    try {
      return (await client.query<Row>({ ...completeAndClaim, values: [ids] })).rows;
    } catch (error) {
      if ((error as { code?: unknown }).code !== deadlock) throw error;
    }
  }
}
