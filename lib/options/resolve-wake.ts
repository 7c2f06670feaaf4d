import type { OptionCheck } from './option-check.js';
import { isSingleStore, type QueueConnection } from './queue-connection.js';
import type { QueueOptions } from './queue-options.js';

/** How inserts wake workers. */
export type Wake = 'listen' | 'kill' | 'poll';

/** Of each driver the default first. */
const waysOf = { postgres: ['listen', 'poll'], mysql: ['kill', 'poll'] } as const;

const onlyOf = {
  kill: `wake: 'kill' is for MySQL and MariaDB: use 'listen' or 'poll' on PostgreSQL`,
  listen: `wake: 'listen' is for PostgreSQL: use 'kill' or 'poll' on MySQL and MariaDB`,
} as const;

/** By default they poll there anyway, as all do that hold a lease. */
const noneWakes = "wake: 'kill' is for MySQL and MariaDB: workers on SingleStore always poll: leave it out";

const bellIsAnOption =
  "wake cannot be 'bell': to wake workers through a bell, set the option bell and leave wake out";

/** Reads the option, the mistakes of which `check` collects. */
export function resolveWake(
  wake: QueueOptions['wake'],
  connection: QueueConnection,
  check: OptionCheck,
): Wake {
  const { driver } = connection;
  const ways: readonly Wake[] = waysOf[driver];
  const [usual] = waysOf[driver];
  if ((wake as string) === 'bell') check.mistake(bellIsAnOption);
  else if (wake === 'kill' && isSingleStore(connection)) check.mistake(noneWakes);
  else if ((wake === 'listen' || wake === 'kill') && !ways.includes(wake)) check.mistake(onlyOf[wake]);
  else check.oneOf<Wake>('wake', wake ?? usual, ['listen', 'kill', 'poll']);
  return wake ?? usual;
}
