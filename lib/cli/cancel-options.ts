import { userInfo } from 'node:os';
import type { BulkCancelOptions } from '../admin/cancellation.js';
import type { CommandCall, CommandOption } from './command.js';
import { textOption } from './option-values.js';

/** Why a task ends before its time. */
export const reasonOption: Readonly<Record<string, CommandOption>> = {
  reason: { type: 'string', value: '<text>', description: "recorded as the task's message" },
};

/** Who cancels, and why. */
export const cancelOptions: Readonly<Record<string, CommandOption>> = {
  ...reasonOption,
  by: {
    type: 'string',
    value: '<name>',
    description: "recorded as who cancelled it. Default: this system's user",
  },
};

/** Reads them. */
export function cancelOptionsOf({ options }: CommandCall): BulkCancelOptions {
  return { by: textOption(options, 'by') ?? systemUser(), reason: textOption(options, 'reason') };
}

/** A container may run as a user without a name. */
function systemUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
