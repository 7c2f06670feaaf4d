/** What a shell happens to have set must not decide how a queue runs. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(PG|DB_|QUEUE_|DATABASE|REDIS|GRAPHILE|NODE_OPTIONS|LOG_DEBUG)/.test(name),
  );
  return { ...Object.fromEntries(kept), NO_LOG_SUCCESS: '1' };
}
