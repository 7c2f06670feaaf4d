import { readFileSync } from 'node:fs';
import { inSources } from '../folders.js';

/** The static manifest of an adapter, as the harness reads it before it starts one. */
export interface Manifest {
  readonly system: string;
  readonly db_name: string;
  readonly event_tables: readonly string[];
  readonly extensions: readonly string[];
  /** Seconds from SIGTERM until an adapter is killed; the harness's default is 10. */
  readonly shutdown_grace_s?: number;
}

export type System = 'tarefa' | 'pg-boss' | 'graphile-worker';

/** How a system's adapter is started. */
export interface SystemProgram {
  /** Below the compiled benchmark. */
  readonly program: string;
  /** A module below the sources that `peer-main.js` runs. */
  readonly module?: string;
  /** Undefined for the peers: their manifest is what they tell at start. */
  readonly manifest?: string;
  /** Counts jobs that are not done, as `n`. */
  readonly unfinished: string;
}

/** The systems that the runner drives. */
export const systems: Readonly<Record<System, SystemProgram>> = {
  tarefa: {
    program: 'harness/tarefa-bench/main.js',
    manifest: 'harness/tarefa-bench/adapter.json',
    unfinished: `select count(*) as n from bench.task where status in ('pendente', 'processando', 'agendada')`,
  },
  'pg-boss': {
    program: 'harness/adapter/peer-main.js',
    module: 'peers/harness/pg-boss.mjs',
    unfinished: `select count(*) as n from pgboss.job where state < 'completed'`,
  },
  'graphile-worker': {
    program: 'harness/adapter/peer-main.js',
    module: 'peers/harness/graphile-worker.mjs',
    unfinished: 'select count(*) as n from graphile_worker._private_jobs',
  },
};

export function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(inSources(path), 'utf8')) as Manifest;
}
