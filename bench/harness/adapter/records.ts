import type { SystemFacts } from './harnessed-queue.js';

/** The startup record of the harness's contract. */
export interface DescriptorRecord {
  readonly kind: 'descriptor';
  readonly system: string;
  readonly instance_id: number;
  readonly event_tables: readonly string[];
  readonly extensions: readonly string[];
  readonly version: string;
  readonly schema_version: string | null;
  readonly db_name: string;
  readonly started_at: string;
}

/** One figure at one moment. */
export interface SampleRecord {
  readonly kind: 'adapter';
  readonly t: string;
  readonly system: string;
  readonly instance_id: number;
  readonly subject_kind: 'adapter';
  readonly subject: '';
  readonly metric: Metric;
  readonly value: number;
  /** Seconds that the value is about; 0 for a moment. */
  readonly window_s: number;
}

/** The first six are required. `producer_target_rate` and `queue_depth` are told by instance 0 only. */
export type Metric =
  | 'claim_p50_ms'
  | 'claim_p95_ms'
  | 'claim_p99_ms'
  | 'enqueue_rate'
  | 'completion_rate'
  | 'queue_depth'
  | 'end_to_end_p99_ms'
  | 'producer_target_rate';

/** What a line of an adapter may be. */
export type AdapterRecord = DescriptorRecord | SampleRecord;

export function describe(facts: SystemFacts, instanceId: number, databaseUrl: string): DescriptorRecord {
  return {
    kind: 'descriptor',
    system: facts.system,
    instance_id: instanceId,
    event_tables: facts.eventTables,
    extensions: facts.extensions,
    version: facts.version,
    schema_version: facts.schemaVersion,
    db_name: new URL(databaseUrl).pathname.slice(1),
    started_at: new Date().toISOString(),
  };
}

/** Reads a line of an adapter; undefined for what is not a record of the contract. */
export function readRecord(line: string): AdapterRecord | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const record = JSON.parse(line) as Partial<AdapterRecord>;
    const isSample = record.kind === 'adapter' && Number.isFinite(record.value) && record.t !== undefined;
    return record.kind === 'descriptor' || isSample ? (record as AdapterRecord) : undefined;
  } catch {
    return undefined;
  }
}
