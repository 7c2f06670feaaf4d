import { Agent, get } from 'node:http';
import { monotonicMs } from '../protocol.js';

/** Between two requests; they go out whether or not earlier ones were answered. */
const pauseMs = 20;

/** Asks an HTTP endpoint at an even pace, and measures how long each answer takes. */
export class EndpointWatch {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #answers: Promise<number>[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(port: number) {
    this.#port = port;
    this.#timer = setInterval(() => this.#answers.push(this.#ask()), pauseMs);
  }

  /** Resolves with the ms that each answer took, once all are there. */
  async stop(): Promise<readonly number[]> {
    clearInterval(this.#timer);
    try {
      return await Promise.all(this.#answers);
    } finally {
      this.#agent.destroy();
    }
  }

  #ask(): Promise<number> {
    const begun = monotonicMs();
    return new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port: this.#port, agent: this.#agent }, (response) => {
        response.resume().once('end', () => resolve(monotonicMs() - begun));
      }).once('error', reject);
    });
  }
}
