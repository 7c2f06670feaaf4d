/** Signals that ask a process to end. */
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** A terminal and npm both pass on one press of Ctrl-C: what comes so close together is one signal. */
const samePressMs = 1_000;

/**
 * From now on another signal ends the process at once, as if there were no listener: for operators who do not want to wait for
 * running handlers. Signals without a listener do so anyway. Returns the function that undoes it, which must be
 * called before the process ends itself by the signal that it got.
 */
export function endAtSecondSignal(): () => void {
  const since = performance.now();
  const end = (signal: NodeJS.Signals): void => {
    if (performance.now() - since < samePressMs) return;
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  };
  const heard = signals.filter((signal) => process.listenerCount(signal) > 0);
  for (const signal of heard) process.on(signal, end);
  return () => {
    for (const signal of heard) process.off(signal, end);
  };
}
