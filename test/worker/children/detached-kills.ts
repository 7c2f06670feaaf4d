import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { useDetached, type DetachedProcess } from '../../support/detached-run.js';
import type { Child } from '../../support/processes.js';
import { createQueue } from '../../support/queue-app.js';
import { createEffectTable } from '../../support/worker-process.js';
import { until } from '../../support/waiting.js';
import { useQueue, type QueueBench } from '../queue-bench.js';

/** Steps of a detached attempt at which processes are killed, in their order. */
export const steps = [
  'claim',
  'boot',
  'register',
  'first lease',
  'take over',
  'taken over untold',
  'run',
  'complete',
] as const;

export type Step = (typeof steps)[number];
export type Victim = 'parent' | 'child' | 'both';

/** Where a statement of the child waits until the test lets it go on, by the number of its lock. */
const gates: Partial<Record<Step, { readonly key: number; readonly trigger: string }>> = {
  register: { key: 1, trigger: 'insert on tasks_worker for each row when (new.parent is not null)' },
  'first lease': {
    key: 2,
    trigger:
      'update on tasks_worker for each row when (new.parent is not null and old.lease_until is null and new.lease_until is not null)',
  },
  'take over': {
    key: 3,
    trigger: `update on tasks for each row when (old.executor <> new.executor and old.status = 'processando' and new.status = 'processando')`,
  },
  complete: { key: 4, trigger: `update on tasks for each row when (new.status = 'sucesso')` },
};

/** Declares a test for each of these deaths: afterwards the task has succeeded once, and never ran twice at a time. */
export function exerciseKills(kills: readonly (readonly [Step, Victim])[]): void {
  const bench = useQueue();
  const detached = useDetached(() => bench.database);

  beforeAll(async () => {
    await createQueue(bench.database);
    await createEffectTable(bench.database);
    await bench.pool.query(`create function gate() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(tg_argv[0]::bigint); return new; end $$`);
    for (const { key, trigger } of Object.values(gates))
      await bench.pool.query(`create trigger gate_${key} before ${trigger} execute function gate(${key})`);
  });

  test.each(kills)(
    'killed at the step "%s": %s',
    async (step, victim) => {
      const gate = gates[step]?.key ?? 0;
      // In a session of its own, to be open again when that ends.
      const holder = await bench.connect();
      await holder.query('select pg_advisory_lock($1)', [gate]);
      const parent = await detached.parent({
        ...(step === 'claim' && { DIES_AT_CLAIM: 'yes' }),
        DETACHED_BOOT: 'waits',
      });
      onTestFinished(async () => void (await parent.kill('SIGKILL')));
      const { rows } = await bench.pool.query<{ id: string }>(
        `insert into tasks (processo, status) values ('long', 'pendente') returning id`,
      );
      const id = String(rows[0]?.id);
      const child = await reach(step, { parent, bench, gate, detached });
      if (victim !== 'child') await parent.kill('SIGKILL');
      if (victim !== 'parent') process.kill(child, 'SIGKILL');
      parent.process.kill('SIGCONT');
      await holder.query('select pg_advisory_unlock($1)', [gate]);
      const heir = await detached.parent();
      onTestFinished(async () => void (await heir.kill('SIGKILL')));
      await finish(id, { bench, detached, killed: victim === 'parent' ? [] : [child] });
      expect(detached.mostAtOnce).toBe(1);
      const effects = await bench.pool.query('select 1 as one from effect where task_root = $1', [id]);
      expect(effects.rows).toHaveLength(1);
    },
    60_000,
  );
}

interface Scene {
  readonly parent: Child;
  readonly bench: QueueBench;
  readonly gate: number;
  readonly detached: ReturnType<typeof useDetached>;
}

/** Brings the first child to that step; returns its process id. */
async function reach(step: Step, { parent, bench, gate, detached }: Scene): Promise<number> {
  if (step === 'claim') {
    await parent.exit;
    return 0;
  }
  const child = await detached.booting();
  if (step === 'boot') return child.pid;
  if (step === 'taken over untold') parent.process.kill('SIGSTOP');
  child.say('boot');
  if (step === 'run' || step === 'complete' || step === 'taken over untold') {
    const running = await detached.started();
    if (step === 'run') await parent.message('handed over');
    if (step !== 'complete') return running.pid;
    running.say('succeed');
  }
  await until(async () => {
    const waiting = await bench.pool.query(
      `select 1 as one from pg_locks where locktype = 'advisory' and not granted and objid = $1`,
      [gate],
    );
    return waiting.rows.length > 0;
  }, `the child to wait at the step ${step}`);
  return child.pid;
}

/** Lets whatever runs of the task succeed, until it has. */
async function finish(
  id: string,
  { bench, detached, killed }: Pick<Scene, 'bench' | 'detached'> & { readonly killed: readonly number[] },
): Promise<void> {
  const told = new Set<DetachedProcess>();
  await until(
    async () => {
      for (const one of detached.processes) {
        if (!one.isThere || told.has(one)) continue;
        one.say(one.type === 'booting' ? 'boot' : 'succeed');
        told.add(one);
      }
      // Nobody waits for the leases of those that were killed.
      await bench.pool.query(
        `update tasks_worker set lease_until = started_at
         where pid = any($1) and parent is not null and stopped_at is null and lease_until > clock_timestamp()`,
        [killed],
      );
      return (await bench.chain(id)).some(({ status }) => status === 'sucesso');
    },
    'the task to succeed',
    40_000,
  );
}
