import { writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import type { PostgresServer } from '../../servers/postgres-server.js';
import type { Phase, PhaseType } from './cells.js';
import type { Fleet } from './fleet.js';

/** What a phase may act on. */
export interface Stage {
  readonly postgres: PostgresServer;
  readonly database: string;
  readonly url: string;
  readonly fleet: Fleet;
  /** The adapters read their rate from it. */
  readonly rateFile: string;
  readonly rate: number;
  /** The system's first table. */
  readonly jobTable: string;
  readonly log: (line: string) => void;
}

/** Acts for as long as `until` is not aborted, then undoes what the next phase must not meet. */
type Stress = (stage: Stage, phase: Phase, until: AbortSignal) => Promise<void>;

const readers = 4;
const readEveryMs = 100;
const killEveryMs = 500;
const idleConnections = 300;
const highLoad = 1.5;
/** Pause between the kill of a worker and its start. */
const deadMs = 1_000;

/** What each type of phase does; the others leave the system alone. */
export const stresses: Partial<Record<PhaseType, Stress>> = {
  'idle-in-tx': async ({ url }, _, until) => {
    const holder = await connect(url);
    await holder.query('begin');
    await holder.query('select txid_current()');
    await aborted(until);
    await holder.end();
  },

  'high-load': async ({ rateFile, rate }, _, until) => {
    await writeFile(rateFile, String(rate * highLoad));
    await aborted(until);
    await writeFile(rateFile, String(rate));
  },

  'active-readers': async ({ url, jobTable }, _, until) => {
    await Promise.all(
      Array.from({ length: readers }, async () => {
        const reader = await connect(url);
        await reader.query('begin isolation level repeatable read');
        while (!until.aborted) {
          await reader.query(`select count(*) from ${jobTable}`).catch(() => undefined);
          await rest(readEveryMs, until);
        }
        await reader.end();
      }),
    );
  },

  'kill-worker': async ({ fleet }, _, until) => {
    await fleet.kill(0);
    await aborted(until);
  },

  'start-worker': async ({ fleet }, _, until) => {
    await fleet.start(0);
    await aborted(until);
  },

  'repeated-kill': async ({ fleet }, { seconds }, until) => {
    // Six kills at most in a phase: every 20 s of the 120 s of the harness.
    const everyMs = Math.max(4_000, (seconds * 1_000) / 6);
    for (;;) {
      await rest(everyMs, until);
      if (until.aborted) break;
      await fleet.kill(0);
      await rest(deadMs, until);
      await fleet.start(0);
    }
    if (!fleet.isRunning(0)) await fleet.start(0);
  },

  'postgres-restart': async ({ postgres }, { seconds }, until) => {
    await postgres.shutDown();
    await rest((seconds * 1_000) / 2, until);
    await postgres.startAgain();
    await aborted(until);
  },

  'pg-backend-kill': async ({ postgres, database, log }, _, until) => {
    let killed = 0;
    while (!until.aborted) {
      const rows = await postgres.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = $1 and state in ('active', 'idle in transaction')`,
        [database],
      );
      killed += rows.length;
      await rest(killEveryMs, until);
    }
    log(`${killed} connections were terminated`);
  },

  'pool-exhaustion': async ({ url, log }, _, until) => {
    const held: Client[] = [];
    while (held.length < idleConnections && !until.aborted) {
      const client = await connect(url).catch(() => undefined);
      if (client === undefined) break;
      held.push(client);
    }
    log(`${held.length} connections are held`);
    await aborted(until);
    await Promise.all(held.map((client) => client.end().catch(() => undefined)));
  },
};

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Waits, but not longer than the phase. */
async function rest(ms: number, until: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal: until }).catch(() => undefined);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
