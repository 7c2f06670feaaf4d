import type { Pool } from 'pg';
import type { WorkerReport } from '../messages.js';
import { violation, type Violation } from './oracle.js';

/** Connections and locks of the library in the database. */
export interface ServerResources {
  readonly connections: number;
  readonly locks: number;
}

/** Reads what workers hold on the server now. */
export async function readServerResources(db: Pick<Pool, 'query'>): Promise<ServerResources> {
  const { rows } = await db.query<{ connections: number; locks: number }>(
    `select
       (select count(*)::int from pg_stat_activity
        where datname = current_database() and application_name like 'tarefa%') as connections,
       (select count(*)::int from pg_locks l join pg_database d on d.oid = l.database
        where d.datname = current_database() and l.locktype = 'advisory') as locks`,
  );
  return rows[0] ?? { connections: 0, locks: 0 };
}

/** Of one worker: its session, control and spare connection, and its pools. */
export function mostConnections(poolSize: number): number {
  const ownPool = 4;
  return 3 + poolSize + ownPool;
}

/** Poll, recovery, alarms, looks, pools' and schedules' timers of an idle worker. */
const mostTimers = 30;

/** I15: idle workers after many faults hold what fresh ones hold. */
export function idleResources(
  reports: readonly (WorkerReport | undefined)[],
  server: ServerResources,
  poolSize: number,
  most = mostConnections(poolSize),
): readonly Violation[] {
  const heavy = reports.flatMap((report) => {
    const { TCPSocketWrap: sockets = 0, Timeout: timers = 0 } = report?.resources ?? {};
    return report && (sockets > most || timers > mostTimers || report.running > 0) ? [report] : [];
  });
  const silent = reports.filter((report) => !report).map((_, worker) => ({ worker }));
  const all = reports.length * most;
  return [
    ...violation('I15', 'an idle worker holds more than a fresh one', heavy),
    ...violation('I15', 'an idle worker does not answer', silent),
    ...violation('I15', `more than ${all} connections are open`, server.connections > all ? [server] : []),
  ];
}

/** I15: workers that are gone leave nothing behind. */
export function nothingLeft(server: ServerResources): readonly Violation[] {
  const isLeft = server.connections > 0 || server.locks > 0;
  return violation(
    'I15',
    'connections or locks are left though all workers have stopped',
    isLeft ? [server] : [],
  );
}
