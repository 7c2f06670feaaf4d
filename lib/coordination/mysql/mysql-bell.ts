import type { Bell, BellTopic, HeardMessages, SentMessages } from '../bell.js';
import { heardRing, type RingRequest } from '../ring.js';
import type { HearingChanged } from '../session.js';
import { NoticeBoard, type Notices } from './notice-board.js';

/** A session of this process that sleeps until another process wakes it. */
export interface WakeableSession {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A ring for tasks wakes so many others: that is enough for a start, and those find the rest while they work. */
const mostWoken = 8;
/** The time that one waking is worth: a producer at full speed must not keep the server busy with them. */
const msPerWaking = 1;

type Listeners = { readonly [Topic in BellTopic]: Set<(message: HeardMessages[Topic]) => void> };

/**
 * {@link Bell} of MySQL and MariaDB, which have no channels: it wakes sleeping sessions of other processes, which then look. So
 * they hear that there is something new, and not what; only the process that rings hears it in full. What is waited for, its
 * ends, and looks for lost workers are not heard by others at all: these are for polls to find.
 */
export class MysqlBell implements Bell {
  /** Undefined where no session of this process can be woken. */
  readonly #openSleeper: ((woken: () => void, changed: HearingChanged) => WakeableSession) | undefined;
  /** Wakes that many sleeping sessions of other processes, if there are so many; returns how many they were. */
  readonly #wake: (most: number) => Promise<number>;
  readonly #listeners: Listeners = { tasks: new Set(), looks: new Set(), waits: new Set(), ends: new Set() };
  readonly #board: NoticeBoard;
  /** Told whether this process can be woken. */
  readonly #concerned = new Set<HearingChanged>();
  /** Why it cannot be. */
  #refusal: unknown;
  #sleeper: WakeableSession | undefined;
  /** How many are to be woken next; 0 when nobody rang. */
  #most = 0;
  #waking: Promise<void> | undefined;
  #mayWakeAt = -Infinity;

  /** @param notices what else one may have been woken for */
  constructor(
    openSleeper: ((woken: () => void, changed: HearingChanged) => WakeableSession) | undefined,
    wake: (most: number) => Promise<number>,
    notices: () => Promise<Notices>,
  ) {
    this.#openSleeper = openSleeper;
    this.#wake = wake;
    this.#board = new NoticeBoard(notices, (ring) => this.#tell('tasks', ring));
  }

  readonly tellsOthers = false;

  get canListen(): boolean {
    return this.#openSleeper !== undefined;
  }

  async ring<Topic extends BellTopic>(topic: Topic, message: SentMessages[Topic]): Promise<void> {
    if (topic === 'tasks') await this.ringForTasks(message as SentMessages['tasks']);
    else this.#tell(topic, message as HeardMessages[Topic]);
  }

  /** No statement of MySQL's can ring once it is committed. */
  carried(): undefined {
    return undefined;
  }

  /** Rings for what was committed; resolves when it is on its way. */
  ringForTasks(ring: RingRequest = {}): Promise<void> {
    this.#tell('tasks', heardRing(ring));
    this.#most = ring.halt || ring.changed ? Infinity : Math.max(this.#most, mostWoken);
    this.#waking ??= this.#wakeAll().finally(() => (this.#waking = undefined));
    return this.#waking;
  }

  async listen<Topic extends BellTopic>(
    topic: Topic,
    heard: (message: HeardMessages[Topic]) => void,
    changed?: HearingChanged,
  ): Promise<() => Promise<void>> {
    const listener = (message: HeardMessages[Topic]): void => heard(message);
    const concerned = (refusal: unknown): void => changed?.(refusal);
    this.#listeners[topic].add(listener);
    // Other topics are not heard from other processes in any case.
    if (topic === 'tasks') {
      this.#concerned.add(concerned);
      if (this.#refusal !== undefined) concerned(this.#refusal);
      await this.#fallAsleep();
    }
    return async () => {
      this.#listeners[topic].delete(listener);
      this.#concerned.delete(concerned);
      if (this.#listeners.tasks.size === 0) await this.#stopSleeping();
    };
  }

  /** Resolves when every ring so far is on its way: before the connections are closed. */
  async settled(): Promise<void> {
    await this.#waking;
  }

  async #fallAsleep(): Promise<void> {
    if (this.#sleeper) return;
    this.#sleeper = this.#openSleeper?.(
      () => this.#woken(),
      (refusal) => this.#changed(refusal),
    );
    await this.#board.start();
    await this.#sleeper?.start();
  }

  async #stopSleeping(): Promise<void> {
    const sleeper = this.#sleeper;
    this.#sleeper = undefined;
    this.#refusal = undefined;
    this.#board.stop();
    await sleeper?.stop();
  }

  #changed(refusal: unknown): void {
    this.#refusal = refusal;
    for (const concerned of this.#concerned) concerned(refusal);
  }

  #woken(): void {
    this.#tell('tasks', heardRing({ dueMs: 'lately' }));
    this.#board.look();
  }

  /** While some are being woken, the next rings become one. */
  async #wakeAll(): Promise<void> {
    while (this.#most > 0) {
      const pauseMs = this.#mayWakeAt - performance.now();
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      const most = this.#most;
      this.#most = 0;
      // A ring that is lost delays a task until the next poll.
      const woken = await this.#wake(most).catch(() => 0);
      this.#mayWakeAt = performance.now() + woken * msPerWaking;
    }
  }

  #tell<Topic extends BellTopic>(topic: Topic, message: HeardMessages[Topic]): void {
    for (const listener of this.#listeners[topic]) listener(message);
  }
}
