import type { QueueJson } from './api.js';

/** The dashboards of one application: each leads to the others. */
export class DashboardGroup {
  readonly #queues = new Map<string, QueueJson>();

  add(queue: QueueJson): void {
    this.#queues.set(queue.name, queue);
  }

  /** By name. */
  list(): readonly QueueJson[] {
    return [...this.#queues.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }
}
