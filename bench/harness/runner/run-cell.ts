import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { compiledFolder, inSources } from '../../folders.js';
import { round } from '../../statistics.js';
import type { PostgresServer } from '../../servers/postgres-server.js';
import type { DescriptorRecord } from '../adapter/records.js';
import type { CellLine } from '../harness-line.js';
import { readManifest, systems, type System } from '../systems.js';
import type { Cell, Phase } from './cells.js';
import { Fleet } from './fleet.js';
import { CellFigures, type PhaseSample } from './phase-figures.js';
import type { ReplicaCommand } from './replica.js';
import { stresses, type Stage } from './stress.js';

/** What the harness gives an adapter that its manifest does not say more of. */
const defaultGraceSeconds = 10;
const watchEveryMs = 250;
const drainLimitMs = 20_000;

/** Where and how cells are run. */
export interface CellSurroundings {
  readonly postgres: PostgresServer;
  readonly node: (system: System) => string;
  readonly quick: boolean;
  readonly log: (line: string) => void;
}

/** Runs one scenario by one system in a database of its own. */
export async function runCell(
  cell: Cell,
  system: System,
  { postgres, node, quick, log }: CellSurroundings,
): Promise<CellLine> {
  const database = `harness_${system.replaceAll('-', '_')}_${cell.name}`;
  const url = await postgres.createDatabase(database);
  const folder = await mkdtemp(join(tmpdir(), 'tarefa-harness-'));
  const rateFile = join(folder, 'rate');
  await writeFile(rateFile, String(cell.rate));
  const phases = quick ? cell.quickPhases : cell.phases;
  const sampleEvery = quick ? 1 : 5;
  const samples: PhaseSample[] = [];
  let phase = 'start';
  const commandOf = (instance: number): ReplicaCommand => ({
    node: node(system),
    args: programOf(system),
    environment: environmentOf(cell, { url, rateFile, sampleEvery, instance }),
  });
  const fleet = new Fleet(commandOf, (sample) => void samples.push({ phase, sample }));

  let result: Partial<CellLine> = {};
  let version = '';
  try {
    const descriptors: DescriptorRecord[] = [];
    for (let instance = 0; instance < cell.replicas; instance += 1) {
      descriptors.push(await fleet.start(instance));
    }
    const [descriptor] = descriptors;
    if (descriptor === undefined) throw new Error('a cell has at least one replica');
    checkDrift(system, descriptor);
    version = descriptor.version;
    const jobTable = descriptor.event_tables[0] ?? 'pg_stat_user_tables';
    const stage: Stage = { postgres, database, url, fleet, rateFile, rate: cell.rate, jobTable, log };
    for (const next of phases) {
      phase = next.label;
      await runPhase(stage, next);
    }
    phase = 'drain';
    await writeFile(rateFile, '0');
    result = await drain(url, systems[system].unfinished);
  } catch (error) {
    result = { failed: error instanceof Error ? error.message : String(error) };
  }
  const grace = graceSecondsOf(system);
  const stop = await fleet.stop(grace * 1_000);
  await rm(folder, { recursive: true, force: true });
  await postgres.dropDatabase(database);
  const figures = new CellFigures(phases, samples, sampleEvery);
  return {
    type: 'cell',
    ...{ system, version, cell: cell.name, suite: cell.suite },
    phases: figures.phases(),
    ...figures.recovery(),
    ...result,
    stop,
  };
}

/** Applies the stress of a phase for its time. */
async function runPhase(stage: Stage, phase: Phase): Promise<void> {
  const end = new AbortController();
  let failure: unknown;
  const stress = stresses[phase.type]?.(stage, phase, end.signal).catch((error: unknown) => {
    failure = error ?? new Error('the stress failed');
  });
  const untilMs = performance.now() + phase.seconds * 1_000;
  while (performance.now() < untilMs && failure === undefined) {
    await pause(Math.min(watchEveryMs, Math.max(0, untilMs - performance.now())));
    const fault = stage.fleet.fault();
    if (fault === undefined) continue;
    failure = new Error(`a worker ended in phase ${phase.label} (${fault.code ?? fault.signal})`);
  }
  end.abort();
  await stress;
  if (failure !== undefined) throw failure;
}

/** Waits until everything that was inserted is done; what is left then is stuck. */
async function drain(url: string, unfinished: string): Promise<Partial<CellLine>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const begun = performance.now();
  const count = async (): Promise<number> =>
    Number((await client.query<{ n: string }>(unfinished)).rows[0]?.n);
  try {
    for (;;) {
      const left = await count();
      const took = performance.now() - begun;
      if (left === 0) return { left, drainSeconds: round(took / 1_000) };
      if (took > drainLimitMs) return { left };
      await pause(watchEveryMs);
    }
  } finally {
    await client.end();
  }
}

function programOf(system: System): readonly string[] {
  const { program, module } = systems[system];
  return [new URL(program, compiledFolder).pathname, ...(module === undefined ? [] : [inSources(module)])];
}

function graceSecondsOf(system: System): number {
  const { manifest } = systems[system];
  const grace = manifest === undefined ? undefined : readManifest(manifest).shutdown_grace_s;
  return grace ?? defaultGraceSeconds;
}

/** As the harness does: what an adapter tells at start must be at least what its manifest promises. */
function checkDrift(system: System, descriptor: DescriptorRecord): void {
  const { manifest } = systems[system];
  if (manifest === undefined) return;
  const { event_tables, extensions } = readManifest(manifest);
  const missing = [
    ...event_tables.filter((table) => !descriptor.event_tables.includes(table)),
    ...extensions.filter((extension) => !descriptor.extensions.includes(extension)),
  ];
  if (missing.length > 0) throw new Error(`the descriptor lacks ${missing.join(', ')} of the manifest`);
}

/** The contract's variables. The adapters pace themselves, because the harness's pacer ignores a phase of high load. */
function environmentOf(
  cell: Cell,
  {
    url,
    rateFile,
    sampleEvery,
    instance,
  }: {
    readonly url: string;
    readonly rateFile: string;
    readonly sampleEvery: number;
    readonly instance: number;
  },
): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, SystemRoot } = process.env;
  return {
    ...{ PATH, HOME, TMPDIR, SystemRoot },
    DATABASE_URL: url,
    SCENARIO: 'long_horizon',
    PRODUCER_MODE: 'fixed',
    PRODUCER_PACING: 'adapter',
    PRODUCER_RATE: String(cell.rate),
    PRODUCER_RATE_CONTROL_FILE: rateFile,
    WORKER_COUNT: String(cell.workers),
    JOB_PAYLOAD_BYTES: '256',
    JOB_WORK_MS: '1',
    SAMPLE_EVERY_S: String(sampleEvery),
    BENCH_INSTANCE_ID: String(instance),
    BENCH_QUEUE_COUNT: String(cell.queues),
  };
}
