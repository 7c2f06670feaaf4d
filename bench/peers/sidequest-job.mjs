import { Job } from 'sidequest';

/** Sidequest finds it by this file, so it cannot be made where it is used. */
export class BenchJob extends Job {
  /** @type {(payload: import('../protocol.js').Payload) => void} */
  static started = () => undefined;

  async run(payload) {
    BenchJob.started(payload);
  }
}
