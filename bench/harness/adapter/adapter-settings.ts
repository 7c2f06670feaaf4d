import { readFileSync } from 'node:fs';

/** What the harness tells an adapter, by the environment variables of its contract. */
export interface AdapterSettings {
  readonly databaseUrl: string;
  readonly producerMode: 'fixed' | 'depth-target';
  /** Who credits the offered load: the harness, which sends `ENQUEUE <n>` on standard input, or the adapter. */
  readonly pacing: 'harness' | 'adapter';
  /** Jobs per second. */
  readonly producerRate: number;
  /** File with a rate that replaces `producerRate` during a phase of high load. */
  readonly rateFile: string | undefined;
  readonly batchMax: number;
  readonly batchMs: number;
  readonly targetDepth: number;
  readonly workerCount: number;
  readonly payloadBytes: number;
  readonly workMs: number;
  readonly sampleEverySeconds: number;
  /** Which replica this is, from 0 on. Only 0 tells what is true of all of them, such as the depth. */
  readonly instanceId: number;
  readonly queueCount: number;
}

/**
 * Reads the variables.
 *
 * @throws {Error} when one is missing that has no default, or has a value that the contract does not name
 */
export function readSettings(environment: NodeJS.ProcessEnv): AdapterSettings {
  const text = (name: string, unset: string): string => environment[name] ?? unset;
  const number = (name: string, unset: number): number => {
    const value = Number(environment[name] ?? unset);
    if (!Number.isFinite(value) || value < 0)
      throw new Error(`${name} takes a number, not "${environment[name]}"`);
    return value;
  };
  const scenario = text('SCENARIO', 'long_horizon');
  if (scenario !== 'long_horizon')
    throw new Error(`SCENARIO "${scenario}" is not supported: long_horizon is`);
  return {
    databaseUrl: text('DATABASE_URL', '') || missing('DATABASE_URL'),
    producerMode: oneOf('PRODUCER_MODE', text('PRODUCER_MODE', 'fixed'), ['fixed', 'depth-target']),
    pacing: oneOf('PRODUCER_PACING', text('PRODUCER_PACING', 'adapter'), ['harness', 'adapter']),
    producerRate: number('PRODUCER_RATE', 800),
    rateFile: environment['PRODUCER_RATE_CONTROL_FILE'],
    batchMax: Math.max(1, number('PRODUCER_BATCH_MAX', 128)),
    batchMs: number('PRODUCER_BATCH_MS', 10),
    targetDepth: number('TARGET_DEPTH', 1_000),
    workerCount: Math.max(1, number('WORKER_COUNT', 32)),
    payloadBytes: number('JOB_PAYLOAD_BYTES', 256),
    workMs: number('JOB_WORK_MS', 1),
    sampleEverySeconds: Math.max(1, number('SAMPLE_EVERY_S', 5)),
    instanceId: number('BENCH_INSTANCE_ID', 0),
    queueCount: Math.max(1, number('BENCH_QUEUE_COUNT', 1)),
  };
}

/** The rate in force: what the harness wrote into its control file, else the one of the start. */
export function currentRate({ rateFile, producerRate }: AdapterSettings): number {
  if (rateFile === undefined) return producerRate;
  try {
    const text = readFileSync(rateFile, 'utf8').trim();
    const rate = Number(text);
    // The file is empty for an instant while it is written.
    return text !== '' && Number.isFinite(rate) ? rate : producerRate;
  } catch {
    return producerRate;
  }
}

function oneOf<const Name extends string>(variable: string, value: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === value);
  if (found === undefined) throw new Error(`${variable} takes ${names.join(' or ')}, not "${value}"`);
  return found;
}

function missing(variable: string): never {
  throw new Error(`${variable} must be set`);
}
