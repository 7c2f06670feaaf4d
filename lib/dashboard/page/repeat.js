// Runs again and again while somebody looks.

/**
 * Calls `run` every so often, the next time counted from its end, never while the page is hidden; at once when it is
 * shown again after that time.
 *
 * @param {() => void | Promise<void>} run takes care of its own errors
 * @param {number} everyMs
 * @param {AbortSignal} signal ends it
 */
export function repeat(run, everyMs, signal) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let lastAt = Date.now();
  let isRunning = false;

  plan();
  document.addEventListener('visibilitychange', plan, { signal });
  signal.addEventListener('abort', () => clearTimeout(timer));

  function plan() {
    clearTimeout(timer);
    if (signal.aborted || document.hidden || isRunning) return;
    timer = setTimeout(() => void turn(), Math.max(0, lastAt + everyMs - Date.now()));
  }

  async function turn() {
    isRunning = true;
    try {
      await run();
    } finally {
      isRunning = false;
      lastAt = Date.now();
      plan();
    }
  }
}
