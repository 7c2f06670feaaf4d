import { verdict } from '../../lib/storage/failure-rule.js';
import { hasCode } from '../../lib/errors.js';
import type { RealQueue } from './real-queue.js';
import { holds } from './rules.js';
import { rowsOf, type Claim, type State } from './state.js';

const statements = ['settle', 'complete', 'fail', 'release'] as const;

/** Every claim that somebody might have had on a row, and that does not hold it now. */
function staleClaims(state: State): readonly Claim[] {
  const claims: Claim[] = [];
  for (const { task, row, is } of rowsOf(state)) {
    for (const worker of state.workers.keys()) {
      for (let reservation = 0; reservation <= is.reservation + 1; reservation += 1) {
        const claim = { task, row, worker, reservation };
        if (!holds(is, claim)) claims.push(claim);
      }
    }
  }
  return claims;
}

/** Sends a statement under a claim that does not hold. It must be refused, and change nothing. */
export async function probe(queue: RealQueue, state: State, choice: number): Promise<unknown> {
  const claims = staleClaims(state);
  const claim = claims[Math.floor(choice / 4) % claims.length];
  if (!claim) return [];
  const { id: workerId, database, claims: claimsOfWorker } = queue.worker(claim.worker);
  const shown = { id: queue.id(claim), reservation: claim.reservation };
  const completion = { ...shown, message: 'stale', result: null };
  switch (statements[choice % 4]) {
    case 'settle':
      return (await claimsOfWorker.settleAndClaim([completion])).settledOnly;
    case 'release':
      return database.attempts.releaseMany(workerId, [shown]);
    case 'fail': {
      const lost = choice % 8 > 4;
      const next = { kind: 'after-failure', delayMs: 0 } as const;
      const rule = verdict({ attempt: 1, losses: 0, maxAttempts: 9, next, lost });
      return database.attempts.failMany([{ ...shown, ...rule, workerId, message: 'stale', error: null }]);
    }
    default: {
      const transaction = database.transactions.begin(workerId);
      await transaction.query('insert into effect values (0, 0)');
      const refused = await transaction.complete(completion).then(
        () => 'completed',
        (error: unknown) => hasCode(error, 'TASK_LOST') && [],
      );
      await transaction.rollback();
      return refused;
    }
  }
}
