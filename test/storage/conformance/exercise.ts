import { describe, expect, test } from 'vitest';
import { exerciseAdmin } from './admin.js';
import { exerciseAttempts } from './attempts.js';
import { exerciseChecks } from './check.js';
import { exerciseClaims } from './claims.js';
import { collect } from './contract-test.js';
import { exerciseEndpoints } from './endpoints.js';
import { exerciseFanOut } from './fan-out.js';
import { exerciseHolders } from './holders.js';
import { exerciseIdleLooks } from './idle.js';
import { exerciseInserts } from './inserts.js';
import type { OpenDatabase } from './opened.js';
import { exerciseRefusals } from './refusals.js';
import { exerciseReports } from './reports.js';
import { exerciseKeyedSchedules, exerciseSchedules } from './schedules.js';
import { exerciseSubscriptions } from './subscriptions.js';
import { exerciseGroups, exerciseTransactions } from './transactions.js';
import { exerciseUniqueKeys } from './unique.js';
import { exerciseUpkeep } from './upkeep.js';
import { exerciseWorkers } from './workers.js';

/** What every database promises, part by part. */
export const suites = {
  inserts: exerciseInserts,
  'unique keys': exerciseUniqueKeys,
  claims: exerciseClaims,
  attempts: exerciseAttempts,
  refusals: exerciseRefusals,
  holders: exerciseHolders,
  'fan-out': exerciseFanOut,
  'idle looks': exerciseIdleLooks,
  transactions: exerciseTransactions,
  groups: exerciseGroups,
  workers: exerciseWorkers,
  upkeep: exerciseUpkeep,
  admin: exerciseAdmin,
  reports: exerciseReports,
  checks: exerciseChecks,
  subscriptions: exerciseSubscriptions,
  schedules: exerciseSchedules,
  'keyed schedules': exerciseKeyedSchedules,
  endpoints: exerciseEndpoints,
} satisfies Readonly<Record<string, (open: OpenDatabase) => void>>;

export type SuiteName = keyof typeof suites;

/** Runs all of it, but for parts that this database refuses. */
export function exercise(open: OpenDatabase, refused: readonly SuiteName[] = []): void {
  const promised = Object.entries(suites).filter(([name]) => !refused.includes(name as SuiteName));
  describe.each(promised)('%s', (_, suite) => {
    test.each(collect(() => suite(open)))('$title', async ({ run }) => {
      expect.hasAssertions();
      await run();
    });
  });
}
