import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, ClusterOptions } from '../../kit/cluster.js';
import { promote, startStandby } from '../../kit/standby.js';
import { comes, type Action } from './action.js';

/** Who has which role. */
export interface Roles {
  readonly primary: Cluster;
  /** How every server of the run is started. */
  readonly options: ClusterOptions;
  /** Leads new connections there, and the run's own ones too. */
  follow(next: Cluster): Promise<void>;
}

/** Transactions that began before may write for so long; then the operator ends them. */
const writesMs = 3_000;
/** A connection that is used has left the old primary by then: at its next statement, or the next poll. */
const leavesMs = 10_000;

/** The servers swap roles as an operator has them do, and no connection is cut: the old one goes on, and only reads. */
export function roleFlip(roles: Roles): Action {
  let old: Cluster | undefined;
  let next: Cluster | undefined;
  return {
    name: 'role flip',
    group: 'server',
    share: 0.15,
    do: async () => {
      old = roles.primary;
      next = await startStandby(old, roles.options);
      await old.settings({ default_transaction_read_only: 'on' });
      await endWrites(old);
      await promote(next, old);
      await roles.follow(next);
      const begun = performance.now();
      const from = old;
      const [flipped] = await from.run('select clock_timestamp()::text as at');
      const before = (await connectionsTo(from)).length;
      if (before === 0) return undefined;
      const staying = (): Promise<readonly string[]> => connectionsTo(from, flipped?.['at']);
      const left = await comes(async () => (await staying()).length === 0, leavesMs);
      if (!left) throw new Error(`connections to the old primary stayed: ${(await staying()).join(', ')}`);
      const ms = Math.round(performance.now() - begun);
      return `${before} connections left within ${ms} ms`;
    },
    undo: async () => {
      const isFlipped = next !== undefined && roles.primary === next;
      if (!isFlipped) await old?.settings({ default_transaction_read_only: null });
      await (isFlipped ? old : next)?.stop();
      old = next = undefined;
    },
  };
}

/** What began while the server still wrote. */
async function endWrites(server: Cluster): Promise<void> {
  const [now] = await server.run('select clock_timestamp()::text as at');
  const writers = `from pg_stat_activity where backend_type = 'client backend' and xact_start < $1::timestamptz`;
  const at = [now?.['at']];
  const end = performance.now() + writesMs;
  while (performance.now() < end && (await server.run(`select ${writers}`, at)).length > 0) await pause(100);
  await server.run(`select pg_terminate_backend(pid) ${writers}`, at);
}

/**
 * Connections of the library, by what they are for.
 *
 * @param since those of a pool that have asked nothing since then are left out: they ask nothing before they are found out
 */
async function connectionsTo(server: Cluster, since: unknown = null): Promise<readonly string[]> {
  const rows = await server.run(
    `select concat_ws(' ', application_name, state, now() - state_change) as name from pg_stat_activity
     where application_name like 'tarefa%' and ($1::timestamptz is null or state_change > $1::timestamptz
       or state <> 'idle' or application_name !~ ' (pool|spare|dashboard)$')
     order by 1`,
    [since],
  );
  return rows.map(({ name }) => String(name));
}
