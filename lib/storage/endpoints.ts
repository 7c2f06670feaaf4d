import type { Route } from './attempt.js';

/** A route whose tasks wait. */
export interface PausedRoute {
  readonly route: Route;
  /** For how many ms; undefined: until it is resumed. */
  readonly forMs: number | undefined;
}

/** How requests to an endpoint went. */
export interface EndpointHealth {
  readonly subscriptionId: string;
  /** Failures in a row. */
  readonly failures: number;
  readonly failingSince: Date | null;
  readonly lastSuccessAt: Date | null;
  /** Null unless it rests now. */
  readonly restsUntil: Date | null;
  readonly deactivatedAt: Date | null;
  readonly deactivatedFor: string | null;
  /** True when its deliveries are signed. */
  readonly signed: boolean;
}

/** Where a subscription leads now. */
export interface EndpointAddress {
  readonly url: string | null;
  readonly httpMethod: string | null;
  readonly headers: Readonly<Record<string, string>> | null;
}

/** A subscription as an endpoint of webhooks. */
export interface EndpointRecord extends EndpointHealth, EndpointAddress {
  readonly active: boolean;
}

/** An endpoint that rests or was taken out of service. */
export type FailingEndpoint = Pick<
  EndpointHealth,
  'subscriptionId' | 'failures' | 'restsUntil' | 'deactivatedFor'
>;

/** The longest rest that can be asked for. */
export const mostRestMs = 86_400_000;

/** When an endpoint rests after failures in a row. */
export interface RestRules {
  /** Failures in a row before the first rest. Null: it never rests. */
  readonly failures: number | null;
  readonly restMs: number;
  /** Each rest is twice as long as the one before, up to this. */
  readonly longestRestMs: number;
}

/** What became of an endpoint when a failure was noted. */
export interface NotedFailure {
  /** Failures in a row. */
  readonly failures: number;
  /** True when this failure began a rest. */
  readonly opened: boolean;
  /** How long it rests from now on; 0 when it does not. */
  readonly restsForMs: number;
  /** Since its first failure in a row. */
  readonly failingForMs: number;
}

/** A signing secret as it is stored, encrypted where keys are set. */
export interface StoredSecret {
  readonly secret: string;
  /** An address of the origin that it is for; null: the subscription leads nowhere. */
  readonly origin: string | null;
}

/** The key of HMAC-SHA256 that fan-out seals deliveries with, combined with its two constants. */
export interface SealKeys {
  readonly inner: Uint8Array;
  readonly outer: Uint8Array;
}

/** What is known of the endpoints of webhooks, each named by its subscription, and the secrets that sign for them. */
export interface EndpointStore {
  /**
   * Lists routes whose deliveries wait: paused, of an inactive subscription, or of an endpoint that rests. When a rest is
   * over, one caller gets the turn to probe for that long; to it the route is free. A rest or a turn that ends later than one
   * that begins now is over: the database's clock was set back since.
   */
  pausedRoutes(probeMs: number, longestRestMs: number): Promise<readonly PausedRoute[]>;
  /** Says which of these subscriptions exist, and whether they have a URL. */
  haveUrls(ids: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
  /** Reads where a subscription leads; undefined when there is none. */
  address(id: string): Promise<EndpointAddress | undefined>;
  /** Reads one endpoint; undefined when there is no such subscription. */
  find(id: string): Promise<EndpointRecord | undefined>;
  /** Lists what is known of all endpoints; undefined until a process has delivered webhooks. */
  list(): Promise<readonly EndpointHealth[] | undefined>;
  /**
   * Lists endpoints that rest or were taken out of service, at most `limit`; undefined where this role may not read them, as one
   * that only looks may not: URLs and headers may hold secrets.
   */
  failing(limit: number): Promise<readonly FailingEndpoint[] | undefined>;
  /** Notes a success, at most once per interval while nothing else changes; true when it ended a rest. */
  noteSuccess(id: string, intervalMs: number): Promise<boolean>;
  /**
   * Notes that a request that took `tookMs` has failed. When a rest begins, deliveries that are due move to its end without an
   * attempt. A request that began before the rest did neither counts nor ends it. A rest that ends later than the longest one
   * that begins now is over.
   */
  noteFailure(id: string, tookMs: number, rules: RestRules): Promise<NotedFailure>;
  /** Takes a subscription out of service; false when it was already, or leads elsewhere than to `url` by now. */
  deactivate(id: string, reason: string, url?: string): Promise<boolean>;
  /** Puts a subscription back into service and forgets its failures; false when there is none. */
  reactivate(id: string): Promise<boolean>;
  /** Reads the secrets that sign now, the newest first. */
  secrets(id: string): Promise<readonly StoredSecret[]>;
  /** Adds a secret; those before sign for `othersMs` more. */
  addSecret(id: string, secret: StoredSecret, othersMs: number): Promise<void>;
  /**
   * Before a subscription leads to another origin: gives secrets without an origin the old one, and adds the given secret
   * unless another signs for the new origin. An unsigned endpoint stays unsigned.
   */
  moveSecrets(id: string, from: string | null, to: StoredSecret): Promise<void>;
  /** True when a secret signs for the subscription. */
  isSigned(id: string): Promise<boolean>;
  /** Forgets an endpoint and its secrets. */
  forget(id: string): Promise<void>;
  /** Reads the keys that deliveries are sealed with; undefined while there are none. */
  sealKeys(): Promise<SealKeys | undefined>;
}
