import { expect, test } from 'vitest';
import type { ClaimedTask, StandingClaim } from '../../lib/storage/attempt.js';
import { Reconciler, type ReconcilerParts } from '../../lib/worker/reconciler.js';
import { RunningTasks } from '../../lib/worker/running/running-tasks.js';

test.each([
  ['that the table shows as completed is left alone: word of it is on its way', true, []],
  ['that the table shows as no longer held is stopped', false, ['TASK_LOST']],
])('an attempt %s', async (_, isCompleted, stopped) => {
  const running = new RunningTasks();
  const claim = { id: '1', reservation: 1 };
  const attempt = running.begin(claim as ClaimedTask);
  const reasons: unknown[] = [];
  attempt.context = {
    aborted: undefined,
    completedElsewhere: undefined,
    abort: () => undefined,
    destroy: (reason) => void reasons.push((reason as { readonly code?: unknown }).code),
  };
  const standing: StandingClaim[] = isCompleted ? [{ ...claim, cancelled: false, completed: true }] : [];
  const attempts = { standing: async () => standing, heldBy: async () => [] };
  const reconciler = new Reconciler('9', { database: { attempts } } as unknown as ReconcilerParts);
  await reconciler.compare(running);
  expect(reasons).toEqual(stopped);
});
