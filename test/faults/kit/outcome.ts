import type { Pool } from 'pg';
import { until } from '../../support/waiting.js';

/** What became of all tasks of the queue `tasks`, and of the effects of their handlers. */
export interface Outcome {
  /** Chains that have come to an end, by how. */
  readonly succeeded: number;
  readonly failed: number;
  /** Rows that are not at their end. */
  readonly unfinished: number;
  /** Effects in all. */
  readonly effects: number;
  /** Tasks with more than one. */
  readonly doubled: number;
  /** Succeeded tasks of topics that begin with `effect` or end with it, without one. */
  readonly missing: number;
  /** Effects of an attempt that did not succeed. */
  readonly phantoms: number;
}

/** Reads it in one statement. The effects are in the table of `createEffectTable`. */
export async function readOutcome(pool: Pool): Promise<Outcome> {
  const { rows } = await pool.query<Outcome>(`
    select
      count(*) filter (where status = 'sucesso')::int as succeeded,
      count(*) filter (where status = 'falha' and not reenfileirado)::int as failed,
      count(*) filter (where status in ('pendente', 'agendada', 'processando'))::int as unfinished,
      (select count(*)::int from effect) as effects,
      (select count(*)::int from (select from effect group by task_root having count(*) > 1) twice) as doubled,
      count(*) filter (where status = 'sucesso' and processo like '%effect%' and not exists (
        select from effect e where e.task_root = coalesce(t.id_inicial, t.id) and e.attempt = t.tentativa
      ))::int as missing,
      (select count(*)::int from effect e where not exists (
        select from tasks s
        where coalesce(s.id_inicial, s.id) = e.task_root and s.tentativa = e.attempt and s.status = 'sucesso'
      )) as phantoms
    from tasks t`);
  const [outcome] = rows;
  if (!outcome) throw new Error('no outcome');
  return outcome;
}

/** Waits until no task is left to do, through restarts of the server, and answers what became of them. */
export async function drained(pool: Pool, withinMs = 60_000): Promise<Outcome> {
  let last: Outcome | undefined;
  await until(
    async () => {
      last = await readOutcome(pool).catch(() => undefined);
      return last?.unfinished === 0;
    },
    'all tasks are done',
    withinMs,
  ).catch((error: unknown) => {
    throw new Error(`still to do: ${JSON.stringify(last)}`, { cause: error });
  });
  return last as Outcome;
}

/** What `drained` answers when each of so many tasks with an effect, and others without, succeeded once. */
export function allOnce(effects: number, others = 0): Outcome {
  return {
    succeeded: effects + others,
    failed: 0,
    unfinished: 0,
    effects,
    doubled: 0,
    missing: 0,
    phantoms: 0,
  };
}
