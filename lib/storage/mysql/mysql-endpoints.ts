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
import { changedBy, rowsOf } from './administration/answered.js';
import { restOf, moveDueDeliveries } from './administration/rests.js';
import { WebhookSecrets } from './administration/webhook-secrets.js';
import type { TextRow } from './connections/answers.js';
import type { Run } from './connections/transactions.js';
import type { QueueTables } from './identifiers.js';
import type { MysqlAccess } from './mysql-access.js';
import { limited, lookMs } from './reports/limited.js';
import { isRefusal } from './schema/refusals.js';
import * as sql from './statements/webhooks.js';

/** {@link EndpointStore} in the table `<table>_webhook` beside the subscriptions. */
export class MysqlEndpoints implements EndpointStore {
  readonly #access: MysqlAccess;
  /** True once the table was seen. It stays. */
  #exists = false;

  constructor(access: MysqlAccess) {
    this.#access = access;
  }

  /** By the connection that claims: a claim waits for it, and another connection may have to be opened or waited for. */
  async pausedRoutes(probeMs: number, longestRestMs: number): Promise<readonly PausedRoute[]> {
    const bounds = [longestRestMs, probeMs];
    const held = await this.#access.ask(sql.webhookHolds(this.#tables), [...bounds, ...bounds]);
    const paused: PausedRoute[] = [];
    for (const row of held) {
      const forMs = readBoolean(row['rested']) ? await this.#probe(row, probeMs, bounds) : readRest(row);
      if (forMs !== 0) paused.push({ route: String(row['route']), forMs });
    }
    return paused;
  }

  /** Takes the turn to probe: then its deliveries wait for 0 ms. Another caller may just have got it. */
  async #probe({ endpoint }: TextRow, probeMs: number, bounds: readonly number[]): Promise<number> {
    const values = [probeMs, endpoint, ...bounds];
    const { changed } = await this.#access.change(sql.takeProbe(this.#tables), values);
    return changed > 0 ? 0 : probeMs;
  }

  async haveUrls(ids: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const rows = await this.#access.ask(sql.subscriptionUrls(this.#tables), [JSON.stringify(ids)]);
    return new Map(rows.map((row) => [String(row['id']), readBoolean(row['has_url'])]));
  }

  async address(id: string): Promise<EndpointAddress | undefined> {
    const [row] = await this.#ask(sql.subscriptionTarget, [id]);
    return row && readAddress(row);
  }

  async find(id: string): Promise<EndpointRecord | undefined> {
    const [row] = await this.#ask(sql.readEndpoint, [id]);
    return row && { ...readHealth(row), ...readAddress(row), active: readBoolean(row['ativo']) };
  }

  async list(): Promise<readonly EndpointHealth[] | undefined> {
    if (!(await this.#isThere())) return undefined;
    return (await this.#look(sql.readEndpoints)).map(readHealth);
  }

  async failing(limit: number): Promise<readonly FailingEndpoint[] | undefined> {
    if (this.#tables.subscriptions === undefined || !(await this.#isThere())) return [];
    const rows = await this.#look(sql.failingEndpoints, [limit]).catch(undefinedIfRefused);
    return rows?.map((row) => ({
      subscriptionId: String(row['id']),
      failures: Number(row['failures']),
      restsUntil: readDate(row['open_until']),
      deactivatedFor: readText(row['deactivated_for']),
    }));
  }

  async noteSuccess(id: string, intervalMs: number): Promise<boolean> {
    const tables = this.#tables;
    const [known] = await this.#ask(sql.readSuccess, [intervalMs, id]);
    if (known && !readBoolean(known['worth'])) return false;
    return this.#change(async (run) => {
      await run(sql.addEndpoint(tables), [id]);
      await run(sql.lockSecrets(tables), [id]);
      const [before] = await rowsOf(run, sql.readSuccess(tables), [intervalMs, id]);
      if (!readBoolean(before?.['worth'])) return false;
      await run(sql.noteSuccess(tables), [id]);
      return readBoolean(before?.['open']);
    });
  }

  noteFailure(id: string, tookMs: number, rules: RestRules): Promise<NotedFailure> {
    const tables = this.#tables;
    return this.#change(async (run) => {
      await run(sql.addEndpoint(tables), [id]);
      const [before] = await rowsOf(run, sql.lockEndpoint(tables), [tookMs, rules.longestRestMs, id]);
      const failures = Number(before?.['failures'] ?? 0) + 1;
      const isLate = readBoolean(before?.['within']);
      const restMs = isLate ? null : restOf(failures, rules);
      if (isLate) await run(sql.noteLateFailure(tables), [id]);
      else await run(sql.noteFailure(tables), [failures, restMs, id]);
      const [noted] = await rowsOf(run, sql.readFailure(tables), [id]);
      const restsForMs = Math.max(0, Number(noted?.['open_ms'] ?? 0));
      if (restsForMs > 0) await moveDueDeliveries(run, tables, id, noted?.['open_until'] ?? '');
      return {
        failures: Number(noted?.['failures'] ?? 0),
        opened: restMs !== null,
        restsForMs,
        failingForMs: Number(noted?.['failing_ms'] ?? 0),
      };
    });
  }

  deactivate(id: string, reason: string, url?: string): Promise<boolean> {
    const tables = this.#tables;
    const values = [id, url ?? null, url ?? null];
    return this.#change(async (run) => {
      if ((await changedBy(run, sql.deactivate(tables), values)) === 0) return false;
      await run(sql.noteDeactivation(tables), [id, reason]);
      return true;
    });
  }

  reactivate(id: string): Promise<boolean> {
    const tables = this.#tables;
    return this.#change(async (run) => {
      await run(sql.forgetFailures(tables), [id]);
      return (await changedBy(run, sql.reactivate(tables), [id])) > 0;
    });
  }

  async secrets(id: string): Promise<readonly StoredSecret[]> {
    const [row] = await this.#ask(sql.readSecrets, [id]);
    return row ? secretsOf(row).signing(readText(row['url'])) : [];
  }

  async addSecret(id: string, secret: StoredSecret, othersMs: number): Promise<void> {
    const tables = this.#tables;
    await this.#change(async (run) => {
      await run(sql.addEndpoint(tables), [id]);
      const [row = {}] = await rowsOf(run, sql.lockSecrets(tables), [id]);
      await run(sql.writeSecrets(tables), [secretsOf(row).with(secret, othersMs), id]);
    });
  }

  async moveSecrets(id: string, from: string | null, secret: StoredSecret): Promise<void> {
    const tables = this.#tables;
    await this.#change(async (run) => {
      const [row = {}] = await rowsOf(run, sql.lockSecrets(tables), [id]);
      const secrets = secretsOf(row);
      if (secrets.isSigning) await run(sql.writeSecrets(tables), [secrets.moved(from, secret), id]);
    });
  }

  async isSigned(id: string): Promise<boolean> {
    if (!(await this.#isThere())) return false;
    const [row] = await this.#ask(sql.readSecrets, [id]);
    return row !== undefined && secretsOf(row).isSigning;
  }

  async forget(id: string): Promise<void> {
    if (await this.#isThere()) await this.#ask(sql.forgetEndpoint, [id]);
  }

  async sealKeys(): Promise<SealKeys | undefined> {
    const [row] = await this.#ask(sql.readSealKey);
    return row && { inner: bytesOf(row['inner_key']), outer: bytesOf(row['outer_key']) };
  }

  /** The first process that delivers webhooks makes the table. */
  async #isThere(): Promise<boolean> {
    if (this.#exists) return true;
    const { database, table } = this.#tables;
    const { rows } = await this.#access.own.query(sql.tableIsThere, [database, `${table}_webhook`]);
    return (this.#exists = Number(rows[0]?.['n']) > 0);
  }

  #change<T>(work: (run: Run) => Promise<T>): Promise<T> {
    return this.#access.own.transaction(work);
  }

  #look(text: (tables: QueueTables) => string, values?: readonly unknown[]): Promise<readonly TextRow[]> {
    return limited(this.#access.own, lookMs, (run) => rowsOf(run, text(this.#tables), values));
  }

  async #ask(
    text: (tables: QueueTables) => string,
    values?: readonly unknown[],
  ): Promise<readonly TextRow[]> {
    return (await this.#access.own.query(text(this.#tables), values)).rows;
  }

  get #tables(): QueueTables {
    return this.#access.tables;
  }
}

function readRest(row: TextRow): number | undefined {
  // What is over by the time of the answer still was not when it was made.
  return row['for_ms'] == null ? undefined : Math.max(1, Number(row['for_ms']));
}

function secretsOf(row: TextRow): WebhookSecrets {
  return new WebhookSecrets(row['secrets'], row['now']);
}

function bytesOf(hexadecimal: string | null | undefined): Uint8Array {
  return Buffer.from(hexadecimal ?? '', 'hex');
}

function readHealth(row: TextRow): EndpointHealth {
  return {
    subscriptionId: String(row['id']),
    failures: Number(row['failures']),
    failingSince: readDate(row['failing_since']),
    lastSuccessAt: readDate(row['last_success_at']),
    restsUntil: readDate(row['open_until']),
    deactivatedAt: readDate(row['deactivated_at']),
    deactivatedFor: readText(row['deactivated_for']),
    signed: secretsOf(row).count > 0,
  };
}

function readAddress(row: TextRow): EndpointAddress {
  return {
    url: readText(row['url']),
    httpMethod: readText(row['http_method']),
    headers: readHeaders(readText(row['headers'])) as EndpointAddress['headers'],
  };
}

/** Of an error that says that this user lacks a right. */
function undefinedIfRefused(error: unknown): undefined {
  if (!isRefusal(error)) throw error;
}
