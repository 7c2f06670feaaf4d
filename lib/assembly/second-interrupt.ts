/** A terminal and npm both pass on one press of Ctrl-C: what comes so close together is one. */
const samePressMs = 1_000;

/**
 * From now on one more Ctrl-C (SIGINT) ends the process at once: for operators who do not want to wait for running handlers.
 * Other signals do not, because nobody presses them: whoever listens to one raises it again after closing, as Nest does, and
 * other applications of the process may still close then. Returns the function that undoes it, which must be called before
 * the process ends itself by the signal that it got.
 */
export function endAtSecondInterrupt(): () => void {
  const since = performance.now();
  let others = process.listenerCount('SIGINT');
  // Nobody listens: it ends the process anyway.
  if (others === 0) return () => undefined;
  const end = (): void => {
    const left = process.listenerCount('SIGINT') - 1;
    // Who raises it again takes the listener away first, or would only hear it again.
    const isRaisedAgain = left < others;
    others = left;
    if (isRaisedAgain || performance.now() - since < samePressMs) return;
    process.removeAllListeners('SIGINT');
    process.kill(process.pid, 'SIGINT');
    // Process 1 of a container outlives every signal that it does not listen to.
    process.exit(128 + 2);
  };
  process.on('SIGINT', end);
  return () => {
    process.off('SIGINT', end);
  };
}
