import { column, statusColumn } from '../columns.js';
import type {
  EndpointAddress,
  EndpointHealth,
  EndpointRecord,
  EndpointStore,
  NotedFailure,
  RestRules,
  RouteHold,
  SealKeys,
  StoredSecret,
  TroubledEndpoint,
} from '../endpoints.js';
import { subscriptionRoute } from '../route.js';
import { comparePickUp, dueMs, instant, isPending, routeOf } from './memory-row.js';
import { MemorySecrets } from './memory-secrets.js';
import type { MemoryTable } from './memory-table.js';

/** Most times that a rest is doubled. */
const mostDoublings = 30;

/** What is known of an endpoint; times are ms since 1970. */
interface Health {
  failures: number;
  failingSince?: number | undefined;
  restsUntil?: number | undefined;
  probingUntil?: number | undefined;
  lastSuccessAt?: number | undefined;
  deactivatedAt?: number | undefined;
  deactivatedFor?: string | undefined;
}

/** {@link EndpointStore} in memory. Deliveries are not sealed: all are made by this process. */
export class MemoryEndpoints implements EndpointStore {
  readonly #table: MemoryTable;
  readonly #secrets: MemorySecrets;
  readonly #known = new Map<string, Health>();

  constructor(table: MemoryTable) {
    this.#table = table;
    this.#secrets = new MemorySecrets(table);
  }

  async holds(probeMs: number, longestRestMs: number): Promise<readonly RouteHold[]> {
    const { subscriptions, paused } = this.#table;
    const inactive = [...subscriptions.values()].filter(({ active, url }) => !active && url !== null);
    return [
      ...[...this.#known].flatMap(([id, health]) => this.#restOf(id, health, probeMs, longestRestMs)),
      ...inactive.map(({ id }) => ({ route: subscriptionRoute(id), forMs: undefined })),
      ...[...paused.keys()].map((route) => ({ route, forMs: undefined })),
    ];
  }

  async haveUrls(ids: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const found = ids.flatMap((id) => this.#table.subscriptions.get(id) ?? []);
    return new Map(found.map(({ id, url }) => [id, url !== null]));
  }

  async address(id: string): Promise<EndpointAddress | undefined> {
    const found = this.#table.subscriptions.get(id);
    return found && { url: found.url, httpMethod: found.httpMethod, headers: found.headers };
  }

  async find(id: string): Promise<EndpointRecord | undefined> {
    const found = this.#table.subscriptions.get(id);
    if (!found) return undefined;
    const { url, httpMethod, headers, active } = found;
    return { ...this.#healthOf(id, this.#known.get(id)), url, httpMethod, headers, active };
  }

  async list(): Promise<readonly EndpointHealth[]> {
    const ids = new Set([...this.#known.keys(), ...this.#secrets.endpoints]);
    return [...ids].map((id) => this.#healthOf(id, this.#known.get(id)));
  }

  async troubled(limit: number): Promise<readonly TroubledEndpoint[]> {
    return [...this.#known]
      .filter(([id]) => this.#table.subscriptions.has(id))
      .map(([id, health]) => this.#healthOf(id, health))
      .filter(({ subscriptionId, restsUntil, deactivatedAt }) => {
        const isActive = this.#table.subscriptions.get(subscriptionId)?.active;
        return restsUntil !== null || (deactivatedAt !== null && isActive === false);
      })
      .sort(
        (a, b) =>
          Number(a.restsUntil) - Number(b.restsUntil) || (a.subscriptionId < b.subscriptionId ? -1 : 1),
      )
      .slice(0, limit)
      .map(({ subscriptionId, failures, restsUntil, deactivatedFor }) => ({
        subscriptionId,
        failures,
        restsUntil,
        deactivatedFor,
      }));
  }

  async noteSuccess(id: string, intervalMs: number): Promise<boolean> {
    const { nowMs } = this.#table;
    const health = this.#of(id);
    const { failures, restsUntil, lastSuccessAt = -Infinity } = health;
    const isRecent = lastSuccessAt >= nowMs - intervalMs && lastSuccessAt <= nowMs;
    const isWorthIt = failures > 0 || restsUntil !== undefined || !isRecent;
    if (isWorthIt) Object.assign(health, healthy, { lastSuccessAt: nowMs });
    return restsUntil !== undefined;
  }

  async noteFailure(id: string, tookMs: number, rules: RestRules): Promise<NotedFailure> {
    const { nowMs } = this.#table;
    const health = this.#of(id);
    const before = health.restsUntil;
    health.failingSince = Math.min(health.failingSince ?? nowMs, nowMs);
    const beganBeforeRest =
      before !== undefined && before > nowMs - tookMs && before <= nowMs + rules.longestRestMs;
    if (!beganBeforeRest) {
      health.failures += 1;
      health.probingUntil = undefined;
      health.restsUntil = nextRest(health, rules, nowMs) ?? (before && Math.min(before, nowMs));
    }
    const { failures, failingSince, restsUntil = -Infinity } = health;
    if (restsUntil > nowMs) this.#moveDue(id, restsUntil);
    return {
      failures,
      opened: health.restsUntil !== before,
      restsForMs: Math.max(0, restsUntil - nowMs),
      failingForMs: nowMs - failingSince,
    };
  }

  async deactivate(id: string, reason: string, url?: string): Promise<boolean> {
    const found = this.#table.subscriptions.get(id);
    if (!found?.active || (url !== undefined && found.url !== url)) return false;
    this.#table.subscriptions.set(id, { ...found, active: false });
    Object.assign(this.#of(id), { deactivatedAt: this.#table.nowMs, deactivatedFor: reason });
    return true;
  }

  async reactivate(id: string): Promise<boolean> {
    const health = this.#known.get(id);
    if (health) Object.assign(health, healthy, { deactivatedAt: undefined, deactivatedFor: undefined });
    const found = this.#table.subscriptions.get(id);
    if (found) this.#table.subscriptions.set(id, { ...found, active: true });
    return found !== undefined;
  }

  async secrets(id: string): Promise<readonly StoredSecret[]> {
    return this.#secrets.of(id);
  }

  async addSecret(id: string, secret: StoredSecret, othersMs: number): Promise<void> {
    this.#secrets.add(id, secret, othersMs);
  }

  async moveSecrets(id: string, from: string | null, to: StoredSecret): Promise<void> {
    this.#secrets.move(id, from, to);
  }

  async isSigned(id: string): Promise<boolean> {
    return this.#secrets.sign(id);
  }

  async forget(id: string): Promise<void> {
    this.#known.delete(id);
    this.#secrets.forget(id);
  }

  async sealKeys(): Promise<SealKeys | undefined> {
    return undefined;
  }

  #of(id: string): Health {
    const known = this.#known.get(id) ?? { failures: 0 };
    this.#known.set(id, known);
    return known;
  }

  /** The rest of an endpoint; empty for the caller that gets the turn to probe. */
  #restOf(id: string, health: Health, probeMs: number, longestRestMs: number): readonly RouteHold[] {
    const { nowMs } = this.#table;
    const { restsUntil, probingUntil = -Infinity } = health;
    if (restsUntil === undefined) return [];
    const forMs = Math.max(aheadOf(nowMs, restsUntil, longestRestMs), aheadOf(nowMs, probingUntil, probeMs));
    if (forMs > 0) return [{ route: subscriptionRoute(id), forMs }];
    Object.assign(health, { restsUntil: Math.min(restsUntil, nowMs), probingUntil: nowMs + probeMs });
    return [];
  }

  #moveDue(id: string, untilMs: number): void {
    const until = instant(untilMs);
    const due = this.#table.rows
      .filter(
        (row) => isPending(row) && routeOf(row) === subscriptionRoute(id) && dueMs(row) <= this.#table.nowMs,
      )
      .sort(comparePickUp)
      .slice(0, mostMoved);
    for (const row of due) {
      Object.assign(row, { [column.status]: statusColumn.scheduled, [column.dueAt]: until });
      const previous = this.#table.row(row['id_anterior'] ?? '');
      if (previous) previous[column.nextAttemptAt] = until;
    }
  }

  #healthOf(subscriptionId: string, health: Health = { failures: 0 }): EndpointHealth {
    const { failures, failingSince, lastSuccessAt, restsUntil = -Infinity, deactivatedAt } = health;
    return {
      subscriptionId,
      failures,
      failingSince: dateOf(failingSince),
      lastSuccessAt: dateOf(lastSuccessAt),
      restsUntil: dateOf(restsUntil > this.#table.nowMs ? restsUntil : undefined),
      deactivatedAt: dateOf(deactivatedAt),
      deactivatedFor: health.deactivatedFor ?? null,
      signed: this.#secrets.has(subscriptionId),
    };
  }
}

/** How far a time lies ahead; 0 when that is further than it can be, because the clock was set back since. */
function aheadOf(nowMs: number, untilMs: number, mostMs: number): number {
  const aheadMs = untilMs - nowMs;
  return aheadMs > 0 && aheadMs <= mostMs ? aheadMs : 0;
}

/** Deliveries that one failure moves. */
const mostMoved = 1_000;

/** What an endpoint that answers well has of its failures. */
const healthy = { failures: 0, failingSince: undefined, restsUntil: undefined, probingUntil: undefined };

/** Until when an endpoint rests that has failed once more; undefined when it does not. */
function nextRest(
  { failures }: Health,
  { failures: most, restMs, longestRestMs }: RestRules,
  nowMs: number,
): number | undefined {
  if (most === null || failures < most) return undefined;
  return nowMs + Math.min(longestRestMs, restMs * 2 ** Math.min(mostDoublings, failures - most));
}

function dateOf(ms: number | undefined): Date | null {
  return ms === undefined ? null : new Date(ms);
}
