import { QueueClient, type QueueClientOptions } from '../../client/queue-client.js';
import { TopicSchemas } from '../../client/topic-schemas.js';
import { readTaskRecord } from '../columns.js';
import type { WorkerId } from '../attempt.js';
import type { TaskRecord } from '../../task.js';
import type { DeliveryParts, TesterStore } from '../../testing/tester-store.js';
import type { MemoryStorage } from './memory-storage.js';
import type { MemoryTable } from './memory-table.js';
import { noDatabase } from './needs-database.js';

/** {@link TesterStore} in memory. */
export class MemoryStore implements TesterStore {
  readonly client: QueueClient;
  readonly #table: MemoryTable;
  readonly #storage: MemoryStorage;

  constructor(table: MemoryTable, storage: MemoryStorage, options: QueueClientOptions) {
    this.#table = table;
    this.#storage = storage;
    const runtime = { inserts: storage.inserts, schemas: new TopicSchemas(), transaction: undefined };
    this.client = new QueueClient(noDatabase, options, runtime);
  }

  async inserted(): Promise<readonly TaskRecord[]> {
    return this.#read(
      (row) => row['id_inicial'] == null && row['dead'] !== 'true' && row['subscriber_id'] == null,
    );
  }

  async attempts(id: string): Promise<readonly TaskRecord[]> {
    const first = this.#table.row(id)?.['id_inicial'] ?? id;
    return this.#read((row) => row['id'] === first || row['id_inicial'] === first);
  }

  async hold(id: string, workerId: WorkerId, delivery?: DeliveryParts): Promise<void> {
    const row = this.#table.row(id);
    if (!row) return;
    if (delivery) {
      row['subscriber_id'] = delivery.subscriptionId;
      row['payload'] = delivery.envelope;
    }
    this.#storage.hold(row, workerId);
  }

  async subscription(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    return this.#table.subscriptions.get(id);
  }

  async subscribe(topic: string, id: string): Promise<void> {
    this.#table.subscribe(id, topic);
  }

  async travel(ms: number): Promise<void> {
    this.#table.travel(ms);
  }

  async clear(): Promise<void> {
    this.#table.clear();
  }

  #read(isAsked: (row: MemoryTable['rows'][number]) => boolean): readonly TaskRecord[] {
    return this.#table.rows.filter(isAsked).map((row) => readTaskRecord(this.#table.resolved(row)));
  }
}
