import { get } from 'node:http';
import { monotonicMs } from '../protocol.js';

/** Between two requests; they go out whether or not earlier ones were answered. */
const pauseMs = 20;

/** Asks an HTTP endpoint at an even pace while something runs; resolves with the ms that each answer took, once all are there. */
export async function answersMsWhile(port: number, run: () => Promise<void>): Promise<readonly number[]> {
  const answers: Promise<number>[] = [];
  const timer = setInterval(() => answers.push(ask(port)), pauseMs);
  try {
    await run();
  } finally {
    clearInterval(timer);
  }
  return Promise.all(answers);
}

/** By a connection of its own: a kept one may be closed by its server while that is late. */
function ask(port: number): Promise<number> {
  const begun = monotonicMs();
  const answer = new Promise<number>((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent: false }, (response) => {
      response.resume().once('end', () => resolve(monotonicMs() - begun));
    }).once('error', reject);
  });
  // Told at the end.
  answer.catch(() => undefined);
  return answer;
}
