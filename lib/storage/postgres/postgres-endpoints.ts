import { readBoolean, readDate, readText } from '../columns.js';
import { readHeaders } from '../header-fields.js';
import type {
  EndpointAddress,
  EndpointHealth,
  EndpointRecord,
  EndpointStore,
  NotedFailure,
  RestRules,
  PausedRoute,
  SealKeys,
  StoredSecret,
  FailingEndpoint,
} from '../endpoints.js';
import { blamesRow } from '../error-kind.js';
import type { SqlHandle } from '../sql-handle.js';
import type { QueueTables } from './identifiers.js';
import { classifyError } from './postgres-errors.js';
import type { QueueAccess } from './queue-access.js';
import { queryReadable, readTextBytes } from './readable-rows.js';
import * as sql from './statements/webhooks.js';

type Row = Readonly<Record<string, unknown>>;

/** {@link EndpointStore} in the table `<table>_webhook` beside the subscriptions. */
export class PostgresEndpoints implements EndpointStore {
  readonly #access: Pick<QueueAccess, 'ask' | 'inserts' | 'looks' | 'schema'>;
  /** True once the table was seen. It stays. */
  #exists = false;

  constructor(access: Pick<QueueAccess, 'ask' | 'inserts' | 'looks' | 'schema'>) {
    this.#access = access;
  }

  /** By the connection that claims: a claim waits for it, and another connection may have to be opened or waited for. */
  async pausedRoutes(probeMs: number, longestRestMs: number): Promise<readonly PausedRoute[]> {
    const rows = await this.#access.ask(sql.webhookHolds(this.#tables), [probeMs, longestRestMs]);
    return rows.map((row) => ({
      route: readTextBytes(row['route'], row['encoding']),
      forMs: row['for_ms'] == null ? undefined : Math.max(0, Number(row['for_ms'])),
    }));
  }

  async haveUrls(ids: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const rows = await this.#access.ask(sql.subscriptionUrls(this.#tables), [ids]);
    return new Map(rows.map((row) => [String(row['id']), readBoolean(row['has_url'])]));
  }

  async address(id: string): Promise<EndpointAddress | undefined> {
    const [row] = await this.#query(sql.subscriptionTarget, [id]);
    return row && readAddress(row);
  }

  async find(id: string): Promise<EndpointRecord | undefined> {
    const { inserts } = this.#access;
    const { rows } = await queryReadable(inserts, sql.readEndpoint(this.#tables), [id]);
    const [row] = rows;
    return row && { ...readHealth(row), ...readAddress(row), active: readBoolean(row['ativo']) };
  }

  async list(): Promise<readonly EndpointHealth[] | undefined> {
    const { looks } = this.#access;
    if (!(await this.#isThere(looks))) return undefined;
    const { rows } = await queryReadable(looks, sql.readEndpoints(this.#tables), []);
    return rows.map(readHealth);
  }

  async failing(limit: number): Promise<readonly FailingEndpoint[] | undefined> {
    const { looks } = this.#access;
    if (this.#tables.subscriptions === undefined || !(await this.#isThere(looks))) return [];
    const answer = queryReadable(looks, sql.failingEndpoints(this.#tables), [limit]);
    const rows = await answer.then((found) => found.rows, undefinedIfRefused);
    return rows?.map((row) => ({
      subscriptionId: String(row['id']),
      failures: Number(row['failures']),
      restsUntil: readDate(row['open_until']),
      deactivatedFor: readText(row['deactivated_for']),
    }));
  }

  async noteSuccess(id: string, intervalMs: number): Promise<boolean> {
    const [row] = await this.#query(sql.noteSuccess, [id, intervalMs]);
    return row?.['closed'] === true;
  }

  async noteFailure(
    id: string,
    tookMs: number,
    { failures, restMs, longestRestMs }: RestRules,
  ): Promise<NotedFailure> {
    const values = [id, failures, restMs, longestRestMs, tookMs];
    const [row] = await this.#query(sql.noteFailure, values).catch((error: unknown) => {
      if (!blamesRow(classifyError(error))) throw error;
      return this.#query((tables) => sql.noteFailure(tables, false), values);
    });
    return {
      failures: Number(row?.['failures'] ?? 0),
      opened: row?.['opened'] === true,
      restsForMs: Math.max(0, Number(row?.['open_ms'] ?? 0)),
      failingForMs: Number(row?.['failing_ms'] ?? 0),
    };
  }

  async deactivate(id: string, reason: string, url?: string): Promise<boolean> {
    return (await this.#query(sql.deactivate, [id, reason, url ?? null])).length > 0;
  }

  async reactivate(id: string): Promise<boolean> {
    return (await this.#query(sql.reactivate, [id])).length > 0;
  }

  async secrets(id: string): Promise<readonly StoredSecret[]> {
    const rows = await this.#query(sql.readSecrets, [id]);
    return rows.map((row) => ({ secret: String(row['secret']), origin: readText(row['origin']) }));
  }

  async addSecret(id: string, { secret, origin }: StoredSecret, othersMs: number): Promise<void> {
    await this.#query(sql.addSecret, [id, secret, othersMs, origin]);
  }

  async moveSecrets(id: string, from: string | null, { secret, origin }: StoredSecret): Promise<void> {
    await this.#query(sql.moveSecrets, [id, from, origin, secret]);
  }

  async isSigned(id: string): Promise<boolean> {
    if (!(await this.#isThere(this.#access.inserts))) return false;
    const [row] = await this.#query(sql.countSecrets, [id]);
    return Number(row?.['n']) > 0;
  }

  async forget(id: string): Promise<void> {
    if (await this.#isThere(this.#access.inserts)) await this.#query(sql.forgetEndpoint, [id]);
  }

  async sealKeys(): Promise<SealKeys | undefined> {
    const [row] = await this.#query(sql.readSealKey, []);
    const keyOf = (name: string): Buffer => Buffer.from(String(row?.[name]), 'base64');
    return row && { inner: keyOf('inner_key'), outer: keyOf('outer_key') };
  }

  /** The first process that delivers webhooks makes the table. */
  async #isThere(handle: SqlHandle): Promise<boolean> {
    if (this.#exists) return true;
    const { rows } = await handle.query('select to_regclass($1::text) is not null as found', [
      this.#tables.webhooks,
    ]);
    return (this.#exists = rows[0]?.['found'] === true);
  }

  async #query(text: (tables: QueueTables) => string, values: unknown[]): Promise<readonly Row[]> {
    return (await this.#access.inserts.query(text(this.#tables), values)).rows;
  }

  get #tables(): QueueTables {
    return this.#access.schema.tables;
  }
}

function readHealth(row: Row): EndpointHealth {
  return {
    subscriptionId: String(row['id']),
    failures: Number(row['failures']),
    failingSince: readDate(row['failing_since']),
    lastSuccessAt: readDate(row['last_success_at']),
    restsUntil: readDate(row['open_until']),
    deactivatedAt: readDate(row['deactivated_at']),
    deactivatedFor: readText(row['deactivated_for']),
    signed: Number(row['secrets']) > 0,
  };
}

function readAddress(row: Row): EndpointAddress {
  return {
    url: readText(row['url']),
    httpMethod: readText(row['http_method']),
    headers: readHeaders(readText(row['headers'])) as EndpointAddress['headers'],
  };
}

/** Of an error that says that this role lacks a right. */
function undefinedIfRefused(error: unknown): undefined {
  if ((error as { code?: unknown }).code !== '42501') throw error;
}
