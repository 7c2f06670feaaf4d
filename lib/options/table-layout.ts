import type { OptionCheck } from './option-check.js';
import type { QueueOptions } from './queue-options.js';

/** Ids of one partition, unless the options say otherwise. */
export const defaultPartitionIds = 1_000_000;

/** How a queue table is laid out that is not there yet. */
export type ResolvedLayout = 'plain' | { readonly partitionIds: number };

/** Fewer ids would be partitions by the second, more would be what one plain table is. */
const leastIds = 10;
const mostIds = 1_000_000_000;

/** Reads the option, the mistakes of which `check` collects. */
export function resolveLayout(layout: QueueOptions['layout'], check: OptionCheck): ResolvedLayout {
  const given: unknown = layout ?? 'plain';
  if (given === 'plain') return 'plain';
  if (given === 'partitioned') return Object.freeze({ partitionIds: defaultPartitionIds });
  if (typeof given === 'object' && given !== null && 'partitionIds' in given) {
    check.known(Object.keys(given), ['partitionIds'], 'layout.');
    const ids = check.whole('layout.partitionIds', given.partitionIds as number, leastIds, mostIds);
    return Object.freeze({ partitionIds: ids });
  }
  check.mistake(`layout must be 'plain', 'partitioned' or { partitionIds }, not ${JSON.stringify(given)}`);
  return 'plain';
}
