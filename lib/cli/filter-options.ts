import type { TaskFilter, TaskStateName } from '../admin/task-filter.js';
import { taskStates } from '../storage/columns.js';
import { UsageError, type CommandOption, type OptionValues } from './command.js';
import { flagOption, listOption, textOption, timeOption } from './option-values.js';

/** What `tasks` and commands with `--all` choose by, but the status. */
export const filterOptions: Readonly<Record<string, CommandOption>> = {
  topic: { type: 'string', value: '<topic>', description: 'only this topic' },
  subscription: { type: 'string', value: '<id>', description: 'only deliveries of this subscription' },
  'external-key': { type: 'string', value: '<key>', description: 'only this external key' },
  tenant: { type: 'string', value: '<id>', description: 'only this tenant' },
  group: { type: 'string', value: '<group>', description: 'only this group' },
  publication: { type: 'string', value: '<id>', description: 'only deliveries of this publication' },
  since: {
    type: 'string',
    value: '<time>',
    description: 'due at this time or later: 2026-01-31, 2026-01-31T12:00:00Z, or an age: 30m, 24h, 7d',
  },
  until: { type: 'string', value: '<time>', description: 'due before this time' },
  dead: { type: 'boolean', description: 'only dead tasks' },
  buried: {
    type: 'boolean',
    description:
      'only tasks that gave up, as they stand now: they ran out of attempts or were buried, and have not been retried since',
  },
  untreated: {
    type: 'boolean',
    description: 'only tasks that gave up and that no dead handler has dealt with, or not yet',
  },
  message: {
    type: 'string',
    value: '<text>',
    description: 'only tasks whose message contains this text, case-insensitively',
  },
};

/** The status as well. */
export const statusOption: Readonly<Record<string, CommandOption>> = {
  status: {
    type: 'string',
    multiple: true,
    value: '<status>',
    choices: taskStates,
    description: `one of ${taskStates.join(', ')}`,
  },
};

/**
 * Reads them. What is left out is not asked for.
 *
 * @throws {UsageError}
 */
export function readFilter(options: OptionValues): TaskFilter {
  const since = timeOption(options, 'since');
  const until = timeOption(options, 'until');
  const statuses = listOption(options, 'status').map(readStatus);
  const given = {
    topic: textOption(options, 'topic'),
    subscriptionId: textOption(options, 'subscription'),
    externalKey: textOption(options, 'external-key'),
    tenant: textOption(options, 'tenant'),
    group: textOption(options, 'group'),
    publicationId: textOption(options, 'publication'),
    message: textOption(options, 'message'),
    since,
    until,
    payload: textOption(options, 'payload'),
    dead: flagOption(options, 'dead') ? true : undefined,
    buried: flagOption(options, 'untreated')
      ? ('untreated' as const)
      : flagOption(options, 'buried') || undefined,
    status: statuses.length > 0 ? statuses : undefined,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function readStatus(text: string): TaskStateName {
  const state = taskStates.find((one) => one === text);
  if (state) return state;
  throw new UsageError(`--status must be one of ${taskStates.join(', ')}, not ${JSON.stringify(text)}`);
}
