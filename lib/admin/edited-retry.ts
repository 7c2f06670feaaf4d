import { encodePayload, hashPayload, readText } from '../client/task-input.js';
import type { TopicSchemas } from '../client/topic-schemas.js';
import { TarefaError } from '../errors.js';
import type { TaskAdmin } from '../storage/admin.js';
import type { TaskRecord } from '../task.js';
import { messageOf } from './admin-input.js';

/** What a payload may be. */
export interface PayloadRules {
  readonly maxPayloadBytes: number;
  readonly schemas: Pick<TopicSchemas, 'check'>;
  /** True beside workers of nsj-queue-lib: theirs would go on with the first attempt's payload. */
  readonly interop: boolean;
}

/** Who does something, and why. */
export interface EditNote {
  readonly by: string | null;
  readonly reason: string | null;
}

const longestName = 200;

/** @throws {TarefaError} `INPUT_INVALID` */
export function readNote({ by, reason }: Readonly<Partial<Record<keyof EditNote, unknown>>>): EditNote {
  return {
    by: readText('by', by, longestName),
    reason: reason === undefined || reason === null ? null : messageOf(reason),
  };
}

/**
 * Starts a failed task again with another payload, which is checked as an insert's is.
 *
 * @param current the task as it stands
 * @returns id of the new attempt; undefined unless the task has failed
 * @throws {TarefaError} `TASK_STATE` for a delivery or beside nsj-queue-lib; `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`,
 * `PAYLOAD_NOT_SERIALISABLE`, `PAYLOAD_INVALID`
 */
export async function retryWithPayload(
  admin: Pick<TaskAdmin, 'retryEdited'>,
  rules: PayloadRules,
  current: TaskRecord,
  given: unknown,
  { by, reason }: EditNote,
): Promise<string | undefined> {
  const why = refusalOf(current, rules);
  if (why !== undefined) {
    throw new TarefaError(
      'TASK_STATE',
      `the payload of task ${current.firstAttemptId} cannot be edited: ${why}`,
    );
  }
  const payload = encodePayload(given, rules.maxPayloadBytes);
  await rules.schemas.check(current.topic, payload);
  return admin.retryEdited(current.id, { payload, hash: hashPayload(payload), by, reason });
}

function refusalOf({ subscriptionId }: TaskRecord, { interop }: PayloadRules): string | undefined {
  if (subscriptionId !== null) return 'a delivery carries the published payload; publish again instead';
  if (!interop) return undefined;
  return 'workers of nsj-queue-lib would keep using the original one; insert a new task instead';
}
