import type { SqlHandle } from '../../sql-handle.js';
import type { SchemaSession } from './schema-session.js';

/** One change to a queue's tables, which may be run again. */
export interface Step {
  /** For people: `build the index tasks_ready`. */
  readonly what: string;
  /** Which locks it takes and for how long, for people. */
  readonly lock: string;
  /** The statements, where they are known beforehand. */
  readonly sql: readonly string[];
  readonly run: (session: SchemaSession) => Promise<void>;
}

/** Told of each step as it begins and ends. */
export interface StepHooks {
  readonly onStart?: (step: Step, index: number, total: number) => void | Promise<void>;
  readonly onEnd?: (step: Step, index: number, total: number, ms: number) => void | Promise<void>;
}

/** Descriptions of locks. */
export const locks = {
  none: 'none on the queue',
  instant: (table: string): string => `ACCESS EXCLUSIVE on ${table}, for an instant`,
  online: (table: string): string =>
    `SHARE UPDATE EXCLUSIVE on ${table}: reads and writes continue meanwhile`,
  rows: 'rows, a thousand at a time',
} as const;

/** A step of one short transaction. */
export function shortStep(
  what: string,
  {
    lock,
    table,
    sql,
    work,
  }: {
    readonly lock: string;
    /** Whose locks are waited for. */
    readonly table: string;
    readonly sql: readonly string[];
    /** Runs instead of just sending the statements. */
    readonly work?: (tx: SqlHandle) => Promise<void>;
  },
): Step {
  const send = async (tx: SqlHandle): Promise<void> => {
    for (const text of sql) await tx.query(text);
  };
  return { what, lock, sql, run: (session) => session.short(what, table, work ?? send) };
}

/** Runs steps in their order. Finished steps stay when a later one fails. */
export async function runSteps(
  session: SchemaSession,
  steps: readonly Step[],
  { onStart, onEnd }: StepHooks = {},
): Promise<void> {
  for (const [index, step] of steps.entries()) {
    await onStart?.(step, index, steps.length);
    const started = performance.now();
    await step.run(session);
    await onEnd?.(step, index, steps.length, performance.now() - started);
  }
}
