import type { Cancellation } from '../storage/cancellation.js';
import { readNote, type EditNote } from './edited-retry.js';

/** Who cancels, and why. */
export interface CancelOptions {
  /** At most 200 characters. */
  readonly by?: string | null | undefined;
  /** Recorded as the message of what is cancelled. Default: `cancelled`, and by whom. */
  readonly reason?: string | null | undefined;
}

/** @throws {TarefaError} `INPUT_INVALID` */
export function readCancellation(given: Readonly<Partial<Record<keyof EditNote, unknown>>>): Cancellation {
  const { by, reason } = readNote(given);
  return { by, message: reason ?? (by ? `cancelled by ${by}` : 'cancelled') };
}
