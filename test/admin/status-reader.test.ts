import { expect, test, vi } from 'vitest';
import { StatusReader } from '../../lib/admin/queue-status.js';
import { TarefaError } from '../../lib/errors.js';
import { newestLimit, type QueueReports } from '../../lib/storage/reports.js';
import type { StatusReport } from '../../lib/storage/status-report.js';

const report: StatusReport = {
  table: 'public.tasks',
  at: new Date(0),
  serverVersion: '18.0',
  endedSince: new Date(0),
  counts: [],
  buried: null,
  oldestPending: null,
  waiting: [],
  unserved: [],
  unheard: [],
  lagMs: 0,
  nextScheduled: null,
  running: [],
  runningTotal: { count: 0, isCapped: false },
  workers: [],
  paused: [],
  purgeable: null,
  purgeMaxAgeDays: 60,
  size: null,
  oldestSnapshot: null,
  seesAllSessions: true,
  notifyUsage: null,
  unknown: [],
};
const nothing = { stepMs: 60_000, points: [], routes: [] };
const lost = new TarefaError('CONNECTION_LOST', 'gone');

function reader(
  history: () => Promise<typeof nothing>,
  failing = () => Promise.resolve(undefined),
  check: QueueReports['check'] = () => Promise.resolve([]),
): StatusReader {
  return new StatusReader(
    {
      reports: { status: () => Promise.resolve(report), history, check },
      endpoints: { failing },
      classify: (error) => (error === lost ? 'connection' : 'other'),
    },
    60,
    () => ({ workerId: '7', reason: 'its session is down', forMs: 90_000 }),
  );
}

const read = (...parts: Parameters<typeof reader>) => reader(...parts).read();

test('what a worker of this process does not take is a problem, and the most urgent one', async () => {
  const { problems, unknown } = await read(() => Promise.resolve(nothing));
  expect(problems).toEqual([
    { kind: 'stalled-worker', workerId: '7', reason: 'its session is down', forMs: 90_000 },
  ]);
  expect(unknown).toEqual([]);
});

test('a history that cannot be read is named, and the rest is told anyway', async () => {
  const { problems, unknown } = await read(() => Promise.reject(new Error('permission denied')));
  expect(unknown).toEqual([{ section: 'history', reason: 'permission denied' }]);
  expect(problems).toMatchObject([
    { kind: 'stalled-worker' },
    { kind: 'unread', section: 'history', reason: 'permission denied' },
  ]);
});

test('rows that must not be there are problems; they are looked for among the newest, and not each time', async () => {
  const found = { kind: 'no-dead-task', count: 12, ids: ['17', '18'] } as const;
  const check = vi.fn<QueueReports['check']>(async () => [found]);
  const status = reader(() => Promise.resolve(nothing), undefined, check);
  for (let n = 0; n < 2; n += 1) {
    expect((await status.read()).problems).toContainEqual({
      kind: 'inconsistent',
      inconsistency: 'no-dead-task',
      count: 12,
      ids: ['17', '18'],
    });
  }
  expect(check.mock.calls).toEqual([[expect.objectContaining({ newest: newestLimit, purgeMaxAgeDays: 60 })]]);
});

test('a look for such rows that takes too long is named, and tried again the next time', async () => {
  const check = vi.fn<QueueReports['check']>(() => Promise.reject(new Error('canceling statement')));
  const status = reader(() => Promise.resolve(nothing), undefined, check);
  for (let n = 0; n < 2; n += 1) {
    expect((await status.read()).unknown).toEqual([
      { section: 'inconsistencies', reason: 'canceling statement' },
    ]);
  }
  expect(check).toHaveBeenCalledTimes(2);
});

test('a server that is gone is an error, not a report without news', async () => {
  await expect(read(() => Promise.reject(lost))).rejects.toBe(lost);
  await expect(
    read(
      () => Promise.resolve(nothing),
      () => Promise.reject(lost),
    ),
  ).rejects.toBe(lost);
});
