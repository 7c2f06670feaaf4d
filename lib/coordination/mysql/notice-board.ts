import { heardRing, type Ring } from '../ring.js';

/** What changes in the tables besides new tasks, as texts that are compared. */
export interface Notices {
  /** When running workers were told to stop. */
  readonly halted: string | null;
  /** Which routes are paused, which running tasks were cancelled, and when a schedule was changed. */
  readonly changed: string | null;
  /** When the next scheduled task is due. */
  readonly due: string | null;
}

/** How often it is read at most. */
const pauseMs = 100;

/**
 * Finds out what a worker was woken for, when that was no new task: the one who wakes it cannot say. A moment later, so that new
 * tasks do not wait for it; and then lets it look once more, for rings that came before it was asleep again.
 */
export class NoticeBoard {
  readonly #read: () => Promise<Notices>;
  readonly #tell: (ring: Ring) => void;
  #known: Notices | undefined;
  #timer: NodeJS.Timeout | undefined;
  #started = false;

  constructor(read: () => Promise<Notices>, tell: (ring: Ring) => void) {
    this.#read = read;
    this.#tell = tell;
  }

  /** Reads what need not be told. */
  async start(): Promise<void> {
    this.#started = true;
    // A poll sees what this one misses.
    this.#known = await this.#read().catch(() => undefined);
  }

  stop(): void {
    this.#started = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Reads it soon. */
  look(): void {
    if (this.#started) this.#timer ??= setTimeout(() => void this.#compare(), pauseMs);
  }

  async #compare(): Promise<void> {
    this.#timer = undefined;
    const found = await this.#read().catch(() => undefined);
    if (!this.#started) return;
    const known = this.#known;
    this.#known = found;
    // A poll sees what cannot be compared.
    if (isLater(found?.halted, known?.halted)) this.#tell(heardRing({ halt: true }));
    if (found && known && found.changed !== known.changed) this.#tell(heardRing({ changed: true }));
    this.#tell(heardRing({ later: found?.due !== known?.due, dueMs: 'lately' }));
  }
}

/** An order that was obeyed goes with its worker. */
function isLater(found: string | null | undefined, known: string | null | undefined): boolean {
  return typeof found === 'string' && known !== undefined && (known === null || found > known);
}
