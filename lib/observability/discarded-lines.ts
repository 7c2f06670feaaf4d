import type { QueueEvents } from '../events.js';
import type { LogLine } from './log-line.js';

/** A topic is named in the log at most so often. */
const windowMs = 60_000;
/** Topics that are told apart within a window; the others are counted together. */
const mostTopics = 100;

/** What is counted where there are too many topics to name. */
const others = Symbol('other topics');
type Topic = string | null | typeof others;

interface Discarded {
  readonly count: number;
  /** Ids of subscriptions that this application declares for the topic. */
  readonly declared: readonly string[];
}

/**
 * Reports publications that reached no subscription: each topic at once, then once a minute with the number since.
 */
export class DiscardedLines {
  readonly #write: (line: LogLine) => void;
  /** How many since the last line, of each topic that had one within the last minute, and who should have got the last one. */
  readonly #counts = new Map<Topic, Discarded>();
  readonly #timers = new Map<Topic, NodeJS.Timeout>();

  constructor(write: (line: LogLine) => void) {
    this.#write = write;
  }

  listen(events: QueueEvents): void {
    events.on('publication.discarded', ({ task, declared }) => this.#discarded(task.topic, declared));
  }

  /** Tells what was counted and not told yet. */
  close(): void {
    for (const topic of [...this.#timers.keys()]) this.#endWindow(topic);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#counts.clear();
  }

  #discarded(topic: Topic, declared: readonly string[]): void {
    const before = this.#counts.get(topic);
    if (before) this.#counts.set(topic, { count: before.count + 1, declared });
    else if (topic !== others && this.#counts.size >= mostTopics) this.#discarded(others, []);
    else this.#tell(topic, { count: 1, declared });
  }

  #tell(topic: Topic, discarded: Discarded): void {
    this.#counts.set(topic, { count: 0, declared: [] });
    this.#timers.set(topic, setTimeout(() => this.#endWindow(topic), windowMs).unref());
    this.#write(lineOf(topic, discarded));
  }

  #endWindow(topic: Topic): void {
    const discarded = this.#counts.get(topic);
    clearTimeout(this.#timers.get(topic));
    this.#timers.delete(topic);
    this.#counts.delete(topic);
    if (discarded && discarded.count > 0) this.#tell(topic, discarded);
  }
}

function lineOf(topic: Topic, { count, declared }: Discarded): LogLine {
  const [publications, they] = count === 1 ? ['publication', 'it was'] : ['publications', 'they were'];
  const name = topic === others ? 'other topics' : topic === null ? 'no topic' : `topic '${topic}'`;
  return {
    level: 'warn',
    component: 'tasks',
    text: `${count} ${publications} of ${name} reached nobody, and ${they} discarded: no active subscription matches${adviceOn(topic, declared)}`,
    fields: { topic: typeof topic === 'string' ? topic : undefined, count },
    stack: undefined,
  };
}

function adviceOn(topic: Topic, declared: readonly string[]): string {
  if (typeof topic !== 'string') return '';
  if (declared.length === 0) {
    return `. Declare one, as in @Subscriber('…', { topic: '${topic}' }), or correct the topic`;
  }
  const ids = declared.map((id) => `'${id}'`).join(', ');
  return `. ${ids} is declared for it, but its row is inactive, or for another tenant or group (\`npx tarefa subscriptions\`)`;
}
