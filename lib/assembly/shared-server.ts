import { ServerLocks } from '../coordination/tcp/server-locks.js';
import { TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { ResolvedSharedServer } from '../options/shared-server.js';
import type { TaskAdmin } from '../storage/admin.js';
import type { PromoteResult, WorkerId } from '../storage/attempt.js';
import type { AttemptStore } from '../storage/attempts.js';
import type { QueueDatabase } from '../storage/database.js';
import { LockedClaims } from '../storage/claiming/locked-claims.js';
import { replaced } from '../values/replaced.js';

/** How long a change waits for the notify job of nsj-queue-lib. */
const waitMs = 5_000;
/** When a promotion looks again that has met the job. */
const promoteAgainMs = 500;
/** For how long the job may keep due tasks from starting before that is told, and told again. */
const tellAfterMs = 60_000;

/** A queue whose tasks are locked in the server of the client-server mode as well. */
export interface SharedQueue {
  readonly database: QueueDatabase;
  close(): Promise<void>;
}

/** Joins the server that workers of nsj-queue-lib lock in: what they run and this process runs is kept apart by it. */
export function shareServer(
  server: ResolvedSharedServer,
  database: QueueDatabase,
  events: QueueEvents,
): SharedQueue {
  const place = `the server of the client-server mode at ${server.host}:${server.notifyPort}`;
  const locks = new ServerLocks(server, (outage) => {
    if (outage === undefined) events.emit('notice', { message: `${place} is reachable again` });
    else
      events.emit('warning', {
        message: `${place} is unreachable, so this worker claims nothing: ${outage}`,
      });
  });
  const stuck = (): void => {
    events.emit('warning', {
      message:
        `no scheduled task has started for ${tellAfterMs / 1_000} s: lock 3 of ${place} is held, for the notify job of nsj-queue-lib ` +
        'or for task 3. The server of nsj-queue-lib never releases the locks of a killed process: if that is the cause, restart it',
    });
  };
  return { database: behind(locks, database, { place, stuck }), close: () => locks.close() };
}

function behind(
  locks: ServerLocks,
  database: QueueDatabase,
  { place, stuck }: { readonly place: string; readonly stuck: () => void },
): QueueDatabase {
  let freeAt = performance.now();
  const promote: AttemptStore['promote'] = async (limit) => {
    const promoted = limit > 0 && (await locks.inTurn(() => database.attempts.promote(limit)));
    const found = promoted || (await database.attempts.promote(0));
    if (promoted || (found.nextDueInMs ?? 1) > 0) freeAt = performance.now();
    else if (limit > 0 && locks.isJoined && performance.now() - freeAt > tellAfterMs) {
      freeAt = performance.now();
      stuck();
    }
    return promoted || again(found);
  };
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    const done = await locks.waitInTurn(work, waitMs);
    if (done) return done.result;
    throw new TarefaError(
      'QUEUE_BUSY',
      `nothing was changed: the notify job of nsj-queue-lib may be about to start scheduled tasks, or ${place} is unreachable. Try again in a moment`,
    );
  };
  return replaced<QueueDatabase>(database, {
    attempts: replaced<AttemptStore>(database.attempts, { promote }),
    admin: replaced<TaskAdmin>(database.admin, {
      runNow: (id) => inTurn(() => database.admin.runNow(id)),
      cancel: (target, cancellation, tx) => inTurn(() => database.admin.cancel(target, cancellation, tx)),
      bury: (id, message) => inTurn(() => database.admin.bury(id, message)),
      delete: (id) => inTurn(() => database.admin.delete(id)),
      runBlock: (kind, selection, block) => inTurn(() => database.admin.runBlock(kind, selection, block)),
    }),
    interop: {
      keepTaskLocks: async (workerId, held) => {
        const kept = await database.interop?.keepTaskLocks(workerId, held);
        return (await locks.keep(held)) && kept !== false;
      },
      findForeignLocks: async () => ({ evidence: undefined, hiddenSessions: 0 }),
      // Their own retry job does, which sees who holds the lock.
      takeOver: async () => [],
    },
    claimsOf: (workerId: WorkerId, options) => {
      locks.join(workerId);
      const { attempts, apart } = database;
      return new LockedClaims(database.claimsOf(workerId, options), workerId, locks, attempts, apart);
    },
  });
}

function again(result: PromoteResult): PromoteResult {
  const { nextDueInMs } = result;
  return {
    ...result,
    nextDueInMs: nextDueInMs === undefined ? undefined : Math.max(promoteAgainMs, nextDueInMs),
  };
}
