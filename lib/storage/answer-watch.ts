/** How long an answer may take before the server is asked what it is doing. */
const limitMs = 30_000;
/** Added to it: after a pause of the whole process its timers run before it reads what has arrived. */
const graceMs = 5_000;
/** How often a server is asked that cannot tell. Five minutes: poolers let a statement wait for a connection for two of them. */
const mostUntold = 9;

export interface AnswerWatch {
  /**
   * Asks the server, over another connection, whether it is at work on the statement. Undefined where it cannot tell, as behind a
   * pooler; rejects where nobody can be asked.
   */
  readonly isAtWork: () => Promise<boolean | undefined>;
  /** Ends the connection, so that whoever waits for its answers is told. */
  readonly cut: (reason: Error) => void;
}

/**
 * Waits for the answer to a statement of the library's on a connection of a pool. A server may be at work on it for long: it waits
 * for a lock, or reads much. When it is not, or nobody can be asked, the connection has fallen silent, because a firewall has
 * forgotten it or this process was frozen, and is cut: the system would send again and again for a quarter of an hour. Where the
 * server cannot tell, that is taken for work for some minutes.
 */
export function watchAnswer<T>(answer: Promise<T>, { isAtWork, cut }: AnswerWatch): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let isAnswered = false;
  let untold = 0;
  const look = async (): Promise<void> => {
    const isWorking = await isAtWork().catch(() => false);
    if (isAnswered) return;
    untold = isWorking === undefined ? untold + 1 : 0;
    if (isWorking || (untold > 0 && untold < mostUntold)) return wait();
    const seconds = (Math.max(1, untold) * (limitMs + graceMs)) / 1_000;
    cut(new Error(`Connection terminated: no answer in ${seconds} s`));
  };
  const wait = (): void => {
    timer = setTimeout(() => (timer = setTimeout(() => void look(), graceMs).unref()), limitMs).unref();
  };
  wait();
  const stop = (): void => {
    isAnswered = true;
    clearTimeout(timer);
  };
  // The promise is answered as it is: errors of statements that were sent together are told in their order.
  answer.then(stop, stop);
  return answer;
}
