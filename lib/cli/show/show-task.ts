import { taskState } from '../../storage/columns.js';
import type { TaskRecord } from '../../task.js';
import type { TaskHistory } from '../../admin/task-answers.js';
import type { Output } from '../output/output.js';
import { readableDuration, readableTopic } from '../output/readable.js';

/** Everything there is of a task. */
export interface WholeTask extends TaskHistory {
  /** Its dead tasks, with their attempts; the newest, when there are many. */
  readonly deadTasks: readonly TaskHistory[];
  /** Of a delivery, as long as it has not been purged. */
  readonly publication: TaskRecord | undefined;
  /** Of a publication: each as it stands now. */
  readonly deliveries: readonly TaskRecord[];
  readonly hasMoreDeliveries: boolean;
  /** Undefined unless it was asked for. */
  readonly payload: string | null | undefined;
}

/** Longest error text that is shown; `--json` shows all of it. */
const mostError = 8_192;

/** A task for people: what it is, its attempts, its dead tasks, publication and deliveries. */
export function showTask(output: Output, whole: WholeTask): void {
  const { current, attempts, deadTasks, deadIds, publication, deliveries, hasMoreDeliveries, payload } =
    whole;
  output.line(
    `task ${current.firstAttemptId}: ${readableTopic(current.topic, current.dead)}, ${describe(output, current)}`,
  );
  showFields(output, current);
  if (publication) {
    output.line(`  publication      ${publication.firstAttemptId}, ${describe(output, publication)}`);
  }
  output.line();
  showAttempts(output, attempts);
  for (const dead of deadTasks) {
    output.line();
    output.line(`dead task ${dead.current.firstAttemptId}: ${describe(output, dead.current)}`);
    showAttempts(output, dead.attempts);
  }
  if (deadIds.length > deadTasks.length) {
    output.line(`(${deadIds.length - deadTasks.length} more dead tasks are older or deleted)`);
  }
  if (current.publication) showDeliveries(output, deliveries, hasMoreDeliveries);
  const failed = attempts.findLast(({ error }) => error !== null);
  if (failed?.error != null) {
    output.line();
    output.line(`error of attempt ${failed.attempt} (${failed.id})`);
    output.text(shortened(failed.error));
  }
  if (payload === undefined) output.note('\nThe payload is hidden: --payload shows it.');
  else {
    output.line();
    output.line('payload');
    output.text(payload ?? '(none)');
  }
}

function describe(output: Output, task: TaskRecord): string {
  const { status, retried, nextAttemptAt } = task;
  if (status === 'failed' && retried && nextAttemptAt)
    return `failed, retried at ${output.time(nextAttemptAt)}`;
  return taskState(task);
}

function showFields(output: Output, task: TaskRecord): void {
  const fields: readonly (readonly [string, string | number | null])[] = [
    ['subscription', task.subscriptionId],
    ['external key', task.externalKey],
    ['tenant', task.tenant],
    ['group', task.group],
    ['origin', task.origin],
    ['destination', task.destination],
    ['priority', task.priority === 50 ? null : task.priority],
    ['dead task of', task.liveId],
    ['cancelled by', task.cancelledBy],
    ['metadata', task.metadata === null ? null : JSON.stringify(task.metadata)],
    ['result', task.result],
    [
      'unreadable',
      task.unreadable ? `${task.unreadable.join(', ')}: bytes that are not text are escaped` : null,
    ],
  ];
  for (const [name, value] of fields) {
    if (value !== null && value !== undefined)
      output.line(`  ${name.padEnd(15)}  ${shortened(String(value))}`);
  }
}

function showAttempts(output: Output, attempts: readonly TaskRecord[]): void {
  let replay = 0;
  let before = 0;
  output.table(
    ['replay', 'attempt', 'id', 'status', 'due', 'started', 'took', 'message'],
    attempts.map((one) => {
      const { id, attempt, dueAt, startedAt, finishedAt, message } = one;
      const status = { status: taskState(one) };
      if (attempt <= before) replay += 1;
      before = attempt;
      const took =
        startedAt && finishedAt ? readableDuration(finishedAt.getTime() - startedAt.getTime()) : null;
      return [replay === 0 ? null : replay, attempt, id, status, dueAt, startedAt, took, message];
    }),
  );
}

function showDeliveries(output: Output, deliveries: readonly TaskRecord[], hasMore: boolean): void {
  output.line();
  output.line(deliveries.length === 0 ? 'no deliveries' : 'deliveries');
  output.table(
    ['task', 'subscription', 'attempts', 'status', 'due', 'message'],
    deliveries.map((one) => [
      one.firstAttemptId,
      readableTopic(one.subscriptionId, one.dead),
      one.attempt,
      { status: taskState(one) },
      one.dueAt,
      one.message,
    ]),
  );
  if (hasMore) output.note(`more deliveries: \`tarefa tasks --publication <id> --latest\` lists them`);
}

function shortened(text: string): string {
  if (text.length <= mostError) return text;
  return `${text.slice(0, mostError)}… (${text.length - mostError} more characters: --json shows them)`;
}
