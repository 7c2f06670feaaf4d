import { TarefaError } from '../errors.js';
import type { ClaimedTask } from '../storage/attempt.js';
import type { Task } from '../task.js';
import { ownRules, type OwnRule } from '../values/own-rules.js';
import { shownValue } from '../values/shown-value.js';
import type { HandlerRules } from './handler-registry.js';

/** How many attempts a task may have: its own number, its handler's, or the queue's. */
export function attemptsOf(
  task: Pick<Task, 'dead' | 'metadata'>,
  rules: Pick<HandlerRules, 'maxAttempts'> | undefined,
  options: { readonly maxAttempts: number },
): number {
  return ownRule(task, 'maxAttempts') ?? rules?.maxAttempts ?? options.maxAttempts;
}

/**
 * @throws {TarefaError} `ATTEMPTS_EXHAUSTED` for an attempt above the limit: it was inserted or renumbered by hand
 */
export function checkAttempt({ attempt }: Task, maxAttempts: number): void {
  if (attempt <= maxAttempts) return;
  throw new TarefaError(
    'ATTEMPTS_EXHAUSTED',
    `attempt ${attempt} is above maxAttempts (${maxAttempts}): it was not run`,
  );
}

/**
 * Checks a payload's size before it is loaded or parsed.
 *
 * @throws {TarefaError} `PAYLOAD_TOO_LARGE`
 */
export function checkSize({ payload, payloadBytes }: ClaimedTask, maxPayloadBytes: number): void {
  // A unit of UTF-16 takes at most three bytes.
  if (payloadBytes === null && (payload == null || payload.length * 3 <= maxPayloadBytes)) return;
  const bytes = payloadBytes ?? Buffer.byteLength(payload ?? '');
  if (bytes <= maxPayloadBytes) return;
  throw new TarefaError(
    'PAYLOAD_TOO_LARGE',
    `the payload has ${bytes} bytes, more than maxPayloadBytes (${maxPayloadBytes}): it was neither loaded nor tried`,
  );
}

/** How long an attempt may take in ms: the task's own time, or its handler's; undefined for as long as it likes. */
export function timeoutOf(
  task: Pick<Task, 'dead' | 'metadata'>,
  rules: Pick<HandlerRules, 'timeoutMs'>,
): number | undefined {
  return ownRule(task, 'timeoutMs') ?? rules.timeoutMs;
}

/** What is wrong with a rule of its own that SQL gave a task; undefined when nothing is. */
export function ownRuleProblem({ dead, metadata }: Pick<Task, 'dead' | 'metadata'>): string | undefined {
  if (dead || metadata === null) return undefined;
  for (const { key, most } of Object.values(ownRules)) {
    const value = metadata[key];
    if (value !== undefined && !isWhole(value, most))
      return `its metadata has "${key}": ${shownValue(value)}, which is no whole number from 1 to ${most}`;
  }
  return undefined;
}

/** A dead task has the metadata of its task, but not its rules. */
function ownRule({ dead, metadata }: Pick<Task, 'dead' | 'metadata'>, name: OwnRule): number | undefined {
  if (dead || metadata === null) return undefined;
  const { key, most } = ownRules[name];
  const value = metadata[key];
  return isWhole(value, most) ? value : undefined;
}

function isWhole(value: unknown, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most;
}
