import { Observable, type Subscriber } from 'rxjs';
import type { OverviewJson } from './api.js';
import { refusalOf } from './refusal.js';

/** What is sent to a page that watches. */
export interface OverviewEvent {
  readonly type: 'overview' | 'failed' | 'heartbeat';
  readonly data: string;
}

/** The least time between two looks, in ms; one that takes long is followed by a longer rest. */
const restMs = 2_000;
const restFactor = 10;
/** Something is sent so often, so that proxies keep the connection, and one that is gone is noticed. */
const heartbeatMs = 20_000;

/**
 * How the queue stands, again and again while pages watch: all of them share one look. However long a look takes, it
 * keeps the database busy for less than a tenth of the time.
 */
export class LiveOverview {
  readonly #read: () => Promise<OverviewJson>;
  readonly #watchers = new Set<Subscriber<OverviewEvent>>();
  #latest: OverviewEvent | undefined;
  #looking = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(read: () => Promise<OverviewJson>) {
    this.#read = read;
  }

  /** One after the other; the latest that is known comes at once. Never completes by itself. */
  watch(): Observable<OverviewEvent> {
    return new Observable((watcher) => {
      // Whose page connects again while its server shuts down.
      if (this.#closed) return watcher.complete();
      this.#watchers.add(watcher);
      const heart = setInterval(() => watcher.next({ type: 'heartbeat', data: '' }), heartbeatMs).unref();
      if (this.#latest) watcher.next(this.#latest);
      if (!this.#looking && !this.#timer) void this.#look();
      return () => {
        clearInterval(heart);
        this.#watchers.delete(watcher);
        if (this.#watchers.size === 0) this.#rest();
      };
    });
  }

  /** Ends every stream: a server that shuts down waits for open requests. */
  close(): void {
    this.#closed = true;
    this.#rest();
    for (const watcher of this.#watchers) watcher.complete();
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#latest = undefined;
  }

  async #look(): Promise<void> {
    this.#looking = true;
    const begun = performance.now();
    const event = await this.#read().then(
      (overview): OverviewEvent => ({ type: 'overview', data: JSON.stringify(overview) }),
      (error: unknown): OverviewEvent => ({
        type: 'failed',
        data: JSON.stringify(refusalOf(error).body),
      }),
    );
    this.#looking = false;
    if (this.#watchers.size === 0) return;
    this.#latest = event;
    for (const watcher of this.#watchers) watcher.next(event);
    const pause = Math.max(restMs, restFactor * (performance.now() - begun));
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#look();
    }, pause).unref();
  }
}
