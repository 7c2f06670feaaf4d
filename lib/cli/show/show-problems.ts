import type { QueueProblem } from '../../admin/problems.js';
import { inconsistencyText } from '../../storage/inconsistencies.js';
import type { Output } from '../output/output.js';
import { readableCount, readableDuration, readableTopic } from '../output/readable.js';

/** What needs attention, a line each. */
export function showProblems(output: Output, problems: readonly QueueProblem[]): void {
  if (problems.length === 0) return;
  output.line();
  output.line(`problems        ${problems.length}`);
  for (const problem of problems) output.line(textOf(problem, output));
}

function textOf(problem: QueueProblem, output: Output): string {
  switch (problem.kind) {
    case 'stalled-worker':
      return `worker ${problem.workerId} has been stalled for ${readableDuration(problem.forMs)} and takes no tasks: ${problem.reason}`;
    case 'no-worker': {
      const { count, isCapped, waitingMs } = problem;
      const tasks = counted(count, 'task', isCapped);
      return `no worker serves ${nameOf(problem)}: ${tasks} waiting, the oldest for ${readableDuration(waitingMs)}`;
    }
    case 'unheard':
      return `no worker serves ${nameOf(problem)}, which is active and has no URL: publications of ${readableTopic(problem.topic)} would wait`;
    case 'lost-worker':
      return `worker ${problem.workerId} (${problem.host}, pid ${problem.pid}) was lost: other workers take over its tasks`;
    case 'lag-growing': {
      const { lagMs, beforeMs, overMs } = problem;
      return `the workers are not keeping up: the oldest task has been waiting for ${readableDuration(lagMs)} (${readableDuration(overMs)} ago: ${readableDuration(beforeMs)})`;
    }
    case 'late-scheduled':
      return `scheduled tasks are late by ${readableDuration(problem.lateMs)}: a worker must make them pending`;
    case 'inconsistent': {
      const { inconsistency, count, ids } = problem;
      return `${inconsistencyText({ kind: inconsistency, count, ids })}. See \`tarefa check --help\``;
    }
    case 'untreated': {
      const { count, isCapped } = problem;
      const tasks = counted(count, 'task', isCapped);
      return `${tasks} gave up and no dead handler has dealt with ${count === 1 ? 'it' : 'them'}: \`tarefa tasks --untreated\` lists ${count === 1 ? 'it' : 'them'}`;
    }
    case 'old-snapshot': {
      const { holder, sinceMs, transactions } = problem;
      const since = sinceMs === null ? '' : `, open for ${readableDuration(sinceMs)}`;
      return `dead rows cannot be removed: an old snapshot is held by ${holder}${since} (${counted(transactions, 'transaction')} old)`;
    }
    case 'notify-full':
      return `PostgreSQL's notification queue is ${Math.round(problem.usage * 100)}% full: a listening session keeps a transaction open; commits that notify fail once it is full`;
    case 'discarded':
      return `${counted(problem.count, 'publication')} of ${nameOf(problem)} reached nobody in the last hour: no active subscription matched`;
    case 'unknown-handler':
      return `${counted(problem.failures, 'attempt')} of ${nameOf(problem)} failed in the last hour because no handler is registered`;
    case 'failing':
      return `${readableCount(problem.failed)} of ${counted(problem.ended, 'attempt')} of ${nameOf(problem)} failed in the last hour`;
    case 'open-circuit': {
      const { subscriptionId, until, failures } = problem;
      return `the endpoint of subscription ${subscriptionId} failed ${counted(failures, 'time')} in a row and rests until ${output.time(until)}`;
    }
    case 'deactivated':
      return `subscription ${problem.subscriptionId} was deactivated: ${problem.reason}`;
    case 'paused':
      return `${nameOf(problem)} has been paused since ${output.time(problem.since)}: ${counted(problem.count, 'task')} waiting`;
    case 'unread':
  }
  return `could not be read: ${problem.section} (${problem.reason})`;
}

function nameOf({ topic, subscriptionId }: { topic: string | null; subscriptionId: string | null }): string {
  return subscriptionId === null ? `topic ${readableTopic(topic)}` : `subscription ${subscriptionId}`;
}

function counted(n: number, what: string, isCapped = false): string {
  return `${readableCount(n, isCapped)} ${what}${n === 1 && !isCapped ? '' : 's'}`;
}
