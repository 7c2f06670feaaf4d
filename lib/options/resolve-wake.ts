import type { OptionCheck } from './option-check.js';
import type { QueueConnection } from './queue-connection.js';
import type { QueueOptions } from './queue-options.js';

/** How inserts wake workers. */
export type Wake = 'listen' | 'kill' | 'poll';

/** Of each driver the default first. */
const waysOf = { postgres: ['listen', 'poll'], mysql: ['kill', 'poll'] } as const;

const onlyOf = {
  kill: `wake: 'kill' is for MySQL and MariaDB: PostgreSQL wakes by 'listen' or 'poll'`,
  listen: `wake: 'listen' is for PostgreSQL: MySQL and MariaDB wake by 'kill' or 'poll'`,
} as const;

/** Reads the option, the mistakes of which `check` collects. */
export function resolveWake(
  wake: QueueOptions['wake'],
  { driver }: QueueConnection,
  check: OptionCheck,
): Wake {
  const ways: readonly Wake[] = waysOf[driver];
  const [usual] = waysOf[driver];
  if ((wake === 'listen' || wake === 'kill') && !ways.includes(wake)) check.mistake(onlyOf[wake]);
  else check.oneOf<Wake>('wake', wake ?? usual, ['listen', 'kill', 'poll']);
  return wake ?? usual;
}
