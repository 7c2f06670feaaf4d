import { TarefaError } from '../../errors.js';
import type { ClaimedTask } from '../../storage/attempt.js';
import type { Task } from '../../task.js';

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
export function checkSize(claimed: ClaimedTask, maxPayloadBytes: number): void {
  const bytes = sizeAbove(claimed, maxPayloadBytes);
  if (bytes === undefined) return;
  throw new TarefaError(
    'PAYLOAD_TOO_LARGE',
    `the payload has ${bytes} bytes, more than maxPayloadBytes (${maxPayloadBytes}): it was neither loaded nor tried`,
  );
}

/** The size in bytes when it is above the limit. */
function sizeAbove({ payload, payloadBytes }: ClaimedTask, limit: number): number | undefined {
  if (payloadBytes !== null) return payloadBytes > limit ? payloadBytes : undefined;
  // A unit of UTF-16 takes at most three bytes.
  if (payload == null || payload.length * 3 <= limit) return undefined;
  const bytes = Buffer.byteLength(payload);
  return bytes > limit ? bytes : undefined;
}
