import { apiBase, isAbort, read, Refusal } from './api-client.js';

/** @typedef {import('../api.ts').OverviewJson} OverviewJson */
/** @typedef {'connecting' | 'live' | 'paused' | 'reconnecting' | 'refused'} LiveState */

/** Without an event for so long the connection counts as lost, whatever a proxy says. */
const silenceMs = 30_000;
const firstDelayMs = 1000;
const longestDelayMs = 30_000;

/** The overview as it changes: one stream while the page is visible, opened again with growing delays when it ends. */
export class LiveOverview {
  #onOverview;
  #onState;
  #signal;
  /** @type {EventSource | null} */
  #source = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #failures = 0;
  /** Counts connections: what an earlier one still waits for must not open another beside the present one. */
  #connection = 0;
  #isPausedByUser = false;

  /**
   * @param {(overview: OverviewJson) => void} onOverview
   * @param {(state: LiveState, refusal: Refusal | null) => void} onState
   * @param {AbortSignal} signal ends it
   */
  constructor(onOverview, onState, signal) {
    this.#onOverview = onOverview;
    this.#onState = onState;
    this.#signal = signal;
    document.addEventListener('visibilitychange', () => this.restart(), { signal });
    signal.addEventListener('abort', () => this.#close());
  }

  get isPausedByUser() {
    return this.#isPausedByUser;
  }

  /** @param {boolean} isPaused */
  setPaused(isPaused) {
    this.#isPausedByUser = isPaused;
    this.restart();
  }

  /** Opens the stream, or closes it where nobody looks. */
  restart() {
    this.#close();
    this.#failures = 0;
    if (this.#signal.aborted) return;
    if (document.hidden || this.#isPausedByUser) {
      this.#onState('paused', null);
      return;
    }
    this.#onState('connecting', null);
    this.#open();
  }

  /** Asks for the overview once, beside the stream. */
  async refresh() {
    /** @type {OverviewJson} */
    const overview = await read('overview', null, this.#signal);
    this.#onOverview(overview);
  }

  #open() {
    const source = new EventSource(new URL('stream', apiBase));
    this.#source = source;
    source.addEventListener('overview', (event) => {
      this.#failures = 0;
      this.#watch();
      this.#onState('live', null);
      this.#onOverview(JSON.parse(event.data));
    });
    // The numbers may take long: the connection is alive anyway.
    source.addEventListener('heartbeat', () => this.#watch());
    source.addEventListener('failed', (event) => {
      this.#watch();
      this.#onState('reconnecting', Refusal.of(JSON.parse(event.data), 503));
    });
    source.addEventListener('error', () => void this.#lose());
    this.#watch();
  }

  #watch() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#lose(), silenceMs);
  }

  async #lose() {
    this.#close();
    const connection = this.#connection;
    this.#onState('reconnecting', null);
    try {
      // A stream does not say why it was refused; a plain request does, and has the numbers where only streams fail.
      await this.refresh();
    } catch (error) {
      if (isAbort(error) || this.#connection !== connection) return;
      if (error instanceof Refusal && error.isSession) {
        this.#onState('refused', error);
        return;
      }
    }
    if (this.#connection !== connection) return;
    const delayMs = Math.min(firstDelayMs * 2 ** this.#failures, longestDelayMs);
    this.#failures += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#open(), delayMs * (0.75 + Math.random() / 2));
  }

  #close() {
    this.#connection += 1;
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }
}
