import type { Client } from 'pg';

/**
 * TCP itself notices a dead network within seconds only on an idle connection. While a statement is under way it
 * sends it again and again for a quarter of an hour, so there the limit is ours. The library's own statements are
 * short: they wait for locks at most five seconds. A COMMIT that takes longer than this is not harmed, as its outcome
 * is read afterwards.
 */
const limitMs = 30_000;
/** The limit is granted twice: after a pause of the whole process its timers run before it reads what has arrived. */
const graceMs = 5_000;

/** Waits for the answer to a statement, and cuts the connection when it does not come. */
export async function withAnswerLimit<T>(client: Client, answer: Promise<T>): Promise<T> {
  const cut = (): void => {
    const seconds = (limitMs + graceMs) / 1000;
    client.connection.stream.destroy(new Error(`Connection terminated: no answer in ${seconds} s`));
  };
  let timer = setTimeout(() => (timer = setTimeout(cut, graceMs)), limitMs);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
  }
}
