import type { TaskFilter, TaskStateName } from '../admin/task-filter.js';
import { taskStates } from '../storage/columns.js';
import { UsageError, type CommandOption, type OptionValues } from './command.js';
import { flagOption, listOption, textOption, timeOption } from './option-values.js';

/** What `tasks` and commands with `--all` choose by, but the status. */
export const filterOptions: Readonly<Record<string, CommandOption>> = {
  topic: { type: 'string', value: '<topic>', description: 'of that topic' },
  subscription: { type: 'string', value: '<id>', description: 'deliveries of that subscription' },
  'external-key': { type: 'string', value: '<key>', description: 'with that external key' },
  tenant: { type: 'string', value: '<id>', description: 'of that tenant' },
  group: { type: 'string', value: '<group>', description: 'of that group' },
  publication: { type: 'string', value: '<id>', description: 'deliveries of that publication' },
  since: {
    type: 'string',
    value: '<time>',
    description: 'due at that time or later: 2026-01-31, 2026-01-31T12:00:00Z, or so long ago: 30m, 24h, 7d',
  },
  until: { type: 'string', value: '<time>', description: 'due before that time' },
  dead: { type: 'boolean', description: 'dead tasks only' },
  buried: {
    type: 'boolean',
    description:
      'tasks only that gave up, as they stand now: they ran out of attempts or were buried, and were not retried since',
  },
  untreated: {
    type: 'boolean',
    description: 'those of them only that no dead handler has dealt with, or none yet',
  },
  message: { type: 'string', value: '<text>', description: 'whose message holds that text, in any case' },
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
