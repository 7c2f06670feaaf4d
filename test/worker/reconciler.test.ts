import { expect, test } from 'vitest';
import type { ClaimedTask } from '../../lib/storage/attempt.js';
import { Reconciler, type ReconcilerParts } from '../../lib/worker/reconciler.js';
import type { RecordedReturn } from '../../lib/worker/running/handler-context.js';
import { RunningTasks } from '../../lib/worker/running/running-tasks.js';

test('what arrives together with the table is heard before an attempt is taken for lost', async () => {
  const running = new RunningTasks();
  const attempt = running.begin({ id: '1', reservation: 1 } as ClaimedTask);
  const reasons: Error[] = [];
  let completedElsewhere: RecordedReturn | undefined;
  attempt.context = {
    aborted: undefined,
    get completedElsewhere() {
      return completedElsewhere;
    },
    abort: () => undefined,
    destroy: (reason) => void reasons.push(reason),
  };
  const attempts = {
    stillHeld: async () => {
      setImmediate(() => (completedElsewhere = { message: 'finished', result: null }));
      return [];
    },
    heldBy: async () => [],
  };
  const reconciler = new Reconciler('9', { database: { attempts } } as unknown as ReconcilerParts);
  await reconciler.compare(running);
  expect(reasons).toEqual([]);
});
