import { expect, test } from 'vitest';
import type { QueueProblem } from '../../lib/admin/problems.js';
import { Output } from '../../lib/cli/output/output.js';
import { showProblems } from '../../lib/cli/show/show-problems.js';

const mail = { topic: 'mail', subscriptionId: null };
const crm = { topic: null, subscriptionId: 'crm' };
const hourAgo = new Date('2026-01-31T11:00:00Z');

function shown(problems: readonly QueueProblem[]): readonly string[] {
  const lines: string[] = [];
  const stream = { write: (text: string) => lines.push(text) };
  showProblems(new Output(stream, stream, false), problems);
  return lines.join('').trim().split('\n');
}

test('nothing is said where nothing needs attention', () => {
  expect(shown([])).toEqual(['']);
});

test.each<[QueueProblem, string]>([
  [
    { kind: 'stalled-worker', workerId: '7', reason: 'its session is down', forMs: 90_000 },
    'worker 7 has been stalled for 1 min 30 s and takes no tasks: its session is down',
  ],
  [
    { kind: 'no-worker', ...mail, waitingMs: 60_000, count: 1, isCapped: false },
    'no worker serves topic mail: 1 task waiting, the oldest for 1 min 0 s',
  ],
  [
    { kind: 'no-worker', ...crm, waitingMs: 60_000, count: 10_000, isCapped: true },
    'no worker serves subscription crm: 10,000+ tasks waiting, the oldest for 1 min 0 s',
  ],
  [
    { kind: 'unheard', topic: 'paid', subscriptionId: 'crm' },
    'no worker serves subscription crm, which is active and has no URL: publications of paid would wait',
  ],
  [
    { kind: 'lost-worker', workerId: '7', host: 'a', pid: 5 },
    'worker 7 (a, pid 5) was lost: other workers take over its tasks',
  ],
  [
    { kind: 'lag-growing', lagMs: 90_000, beforeMs: 60_000, overMs: 300_000 },
    'the workers are not keeping up: the oldest task has been waiting for 1 min 30 s (5 min 0 s ago: 1 min 0 s)',
  ],
  [
    { kind: 'late-scheduled', lateMs: 90_000 },
    'scheduled tasks are late by 1 min 30 s: a worker must make them pending',
  ],
  [
    { kind: 'inconsistent', inconsistency: 'no-dead-task', count: 1, ids: ['17'] },
    '1 task ran out of attempts, but has no dead task: 17. See `tarefa check --help`',
  ],
  [
    { kind: 'inconsistent', inconsistency: 'no-next-attempt', count: 12, ids: ['17', '18'] },
    '12 failed attempts are marked as retried, but have no next attempt: 17, 18, …. See `tarefa check --help`',
  ],
  [
    { kind: 'untreated', count: 1, isCapped: false },
    '1 task gave up and no dead handler has dealt with it: `tarefa tasks --untreated` lists it',
  ],
  [
    { kind: 'untreated', count: 5_000, isCapped: true },
    '5,000+ tasks gave up and no dead handler has dealt with them: `tarefa tasks --untreated` lists them',
  ],
  [
    { kind: 'old-snapshot', sinceMs: 3_600_000, transactions: 12, holder: 'session, psql' },
    'dead rows cannot be removed: an old snapshot is held by session, psql, open for 1 h 0 min (12 transactions old)',
  ],
  [
    { kind: 'notify-full', usage: 0.61 },
    `PostgreSQL's notification queue is 61% full: a listening session keeps a transaction open; commits that notify fail once it is full`,
  ],
  [
    { kind: 'discarded', ...mail, count: 2 },
    '2 publications of topic mail reached nobody in the last hour: no active subscription matched',
  ],
  [
    { kind: 'unknown-handler', ...mail, failures: 1 },
    '1 attempt of topic mail failed in the last hour because no handler is registered',
  ],
  [
    { kind: 'failing', ...mail, failed: 9, ended: 12 },
    '9 of 12 attempts of topic mail failed in the last hour',
  ],
  [
    { kind: 'open-circuit', subscriptionId: 'crm', failures: 5, until: hourAgo },
    'the endpoint of subscription crm failed 5 times in a row and rests until 2026-01-31T11:00:00.000Z',
  ],
  [
    { kind: 'deactivated', subscriptionId: 'crm', reason: 'it said 410' },
    'subscription crm was deactivated: it said 410',
  ],
  [
    { kind: 'paused', topic: null, subscriptionId: null, since: hourAgo, count: 3 },
    'topic (none) has been paused since 2026-01-31T11:00:00.000Z: 3 tasks waiting',
  ],
  [
    { kind: 'unread', section: 'size', reason: 'it took too long' },
    'could not be read: size (it took too long)',
  ],
])('%o is told in words', (problem, text) => {
  expect(shown([problem])).toEqual(['problems        1', text]);
});
