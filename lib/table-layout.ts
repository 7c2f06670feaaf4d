import type { OptionCheck } from './option-check.js';
import type { QueueOptions } from './queue.options.js';
import { defaultPartitionIds } from './storage/postgres/partitions/partitioned-layout.js';

/** Fewer ids would be partitions by the second, more would be what one plain table is. */
const leastIds = 10;
const mostIds = 1_000_000_000;

/** Ids of a partition; undefined for a plain table. */
export function resolveLayout(layout: QueueOptions['layout'], check: OptionCheck): number | undefined {
  if (layout === undefined || layout === 'plain') return undefined;
  if (layout === 'partitioned') return defaultPartitionIds;
  if (typeof layout === 'object' && layout !== null) {
    check.known(Object.keys(layout), ['partitionIds'], 'layout.');
    return check.whole('layout.partitionIds', layout.partitionIds, leastIds, mostIds);
  }
  check.mistake(`layout must be 'plain', 'partitioned' or { partitionIds }, not ${JSON.stringify(layout)}`);
  return undefined;
}
