/** Rules of a handler that a task may have of its own. */
export type OwnRule = 'maxAttempts' | 'timeoutMs';

/** Where they stand in the task's metadata, and what they may be at most: whole numbers from 1. */
export const ownRules: Readonly<Record<OwnRule, { readonly key: string; readonly most: number }>> = {
  maxAttempts: { key: 'tarefa:maxAttempts', most: 1_000_000 },
  timeoutMs: { key: 'tarefa:timeoutMs', most: 2 ** 31 - 1 },
};

export const ownRuleNames = Object.keys(ownRules) as readonly OwnRule[];
