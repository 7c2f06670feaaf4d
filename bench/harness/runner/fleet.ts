import type { DescriptorRecord, SampleRecord } from '../adapter/records.js';
import { Replica, type Ending, type ReplicaCommand } from './replica.js';

/** How all replicas ended when they were told to. */
export interface FleetEnding {
  /** Until the last one had ended. */
  readonly tookMs: number;
  /** Every one ended by itself, without an error, before its grace was over. */
  readonly isClean: boolean;
}

/** The replicas of one system, by their number. */
export class Fleet {
  readonly #replicas = new Map<number, Replica>();
  readonly #commandOf: (instance: number) => ReplicaCommand;
  readonly #onSample: (sample: SampleRecord) => void;

  constructor(commandOf: (instance: number) => ReplicaCommand, onSample: (sample: SampleRecord) => void) {
    this.#commandOf = commandOf;
    this.#onSample = onSample;
  }

  /** Starts one that does not run. */
  async start(instance: number): Promise<DescriptorRecord> {
    if (this.#replicas.has(instance)) throw new Error(`replica ${instance} runs already`);
    const replica = await Replica.start(this.#commandOf(instance), this.#onSample);
    this.#replicas.set(instance, replica);
    return replica.descriptor;
  }

  isRunning(instance: number): boolean {
    return this.#replicas.has(instance);
  }

  async kill(instance: number): Promise<void> {
    const replica = this.#replicas.get(instance);
    this.#replicas.delete(instance);
    await replica?.kill();
  }

  /** How a replica ended that nobody told to. */
  fault(): Ending | undefined {
    return [...this.#replicas.values()].map(({ fault }) => fault).find((fault) => fault !== undefined);
  }

  async stop(graceMs: number): Promise<FleetEnding> {
    const endings = await Promise.all([...this.#replicas.values()].map((replica) => replica.stop(graceMs)));
    this.#replicas.clear();
    return {
      tookMs: Math.max(0, ...endings.map(({ tookMs }) => tookMs)),
      isClean: endings.every(({ code }) => code === 0),
    };
  }
}
