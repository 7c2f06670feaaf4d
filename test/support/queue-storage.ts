import type { Pool } from 'pg';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { assembleCore, type QueueCore } from '../../lib/assembly/core.js';
import { QueueEvents } from '../../lib/events.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import type { QueueOptions } from '../../lib/options/queue-options.js';
import type { Claim, Failure, WorkerId } from '../../lib/storage/attempt.js';
import type { Claims } from '../../lib/storage/claims.js';
import { verdict, type FailedAttempt } from '../../lib/storage/failure-rule.js';
import type { QueueDatabase } from '../../lib/storage/database.js';
import { createDatabase, type TestDatabase } from './database.js';
import { layoutOfRun } from './queue-app.js';

/** The database of the queue `tasks`, without a worker that would act by itself. */
export interface QueueStorage {
  readonly database: QueueDatabase;
  readonly workerId: WorkerId;
  readonly claims: Claims;
  readonly pool: Pool;
}

/** Makes a database for the file; its rows are forgotten after each test. */
export function useStorage(layout: Pick<QueueOptions, 'layout'> = layoutOfRun()): QueueStorage {
  let database: TestDatabase;
  let core: QueueCore;
  let workerId: WorkerId;
  let claims: Claims;

  beforeAll(async () => {
    database = await createDatabase();
    core = await assembleCore(
      resolveOptions({ connection: database.url, queue: 'tasks', ...layout }, {}),
      new QueueEvents(),
    );
    const description = { host: 'test', pid: 1, version: '0', concurrency: 1, routes: [], deadRoutes: [] };
    workerId = await core.database.workers.register(description);
    claims = core.database.claimsOf(workerId, { concurrency: 1, warn: () => undefined });
  });
  afterEach(() => database.pool.query('truncate tasks'));
  afterAll(async () => {
    await core?.close();
    await database?.drop();
  });

  return {
    get database() {
      return core.database;
    },
    get workerId() {
      return workerId;
    },
    get claims() {
      return claims;
    },
    get pool() {
      return database.pool;
    },
  };
}

/** A failure with nothing special about it. */
export function failureOf(
  id: string,
  workerId: WorkerId,
  changes: Partial<Claim & FailedAttempt & Pick<Failure, 'message' | 'error'>> = {},
): Failure {
  const { reservation = 1, message = 'boom', error = null, ...rule } = changes;
  const usual = { attempt: 1, losses: 0, maxAttempts: 1_000_000, lost: false } as const;
  const next = { kind: 'after-failure', delayMs: 0 } as const;
  return { id, reservation, workerId, message, error, ...verdict({ ...usual, next, ...rule }) };
}
