import type { QueueEvents } from '../events.js';
import type { LogLine } from './log-line.js';

/** A topic is named in the log at most so often. */
const windowMs = 60_000;
/** Topics that are told apart within a window; the others are counted together. */
const mostTopics = 100;

/** What is counted where there are too many topics to name. */
const others = Symbol('other topics');
type Topic = string | null | typeof others;

/**
 * Reports publications that reached no subscription: each topic at once, then once a minute with the number since.
 */
export class DiscardedLines {
  readonly #write: (line: LogLine) => void;
  /** How many since the last line, of each topic that had one within the last minute. */
  readonly #counts = new Map<Topic, number>();
  readonly #timers = new Map<Topic, NodeJS.Timeout>();

  constructor(write: (line: LogLine) => void) {
    this.#write = write;
  }

  listen(events: QueueEvents): void {
    events.on('publication.discarded', ({ task }) => this.#discarded(task.topic));
  }

  /** Tells what was counted and not told yet. */
  close(): void {
    for (const topic of [...this.#timers.keys()]) this.#endWindow(topic);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#counts.clear();
  }

  #discarded(topic: Topic): void {
    const count = this.#counts.get(topic);
    if (count !== undefined) this.#counts.set(topic, count + 1);
    else if (topic !== others && this.#counts.size >= mostTopics) this.#discarded(others);
    else this.#tell(topic, 1);
  }

  #tell(topic: Topic, count: number): void {
    this.#counts.set(topic, 0);
    this.#timers.set(topic, setTimeout(() => this.#endWindow(topic), windowMs).unref());
    this.#write(lineOf(topic, count));
  }

  #endWindow(topic: Topic): void {
    const count = this.#counts.get(topic) ?? 0;
    clearTimeout(this.#timers.get(topic));
    this.#timers.delete(topic);
    this.#counts.delete(topic);
    if (count > 0) this.#tell(topic, count);
  }
}

function lineOf(topic: Topic, count: number): LogLine {
  const [publications, they] = count === 1 ? ['publication', 'it was'] : ['publications', 'they were'];
  const name = topic === others ? 'other topics' : topic === null ? 'no topic' : `topic '${topic}'`;
  const hint =
    typeof topic === 'string'
      ? `. Declare one, as @Subscriber('…', { topic: '${topic}' }), or correct the topic`
      : '';
  return {
    level: 'warn',
    component: 'tasks',
    text: `${count} ${publications} of ${name} reached nobody, and ${they} discarded: no active subscription matches${hint}`,
    fields: { topic: typeof topic === 'string' ? topic : undefined, count },
    stack: undefined,
  };
}
