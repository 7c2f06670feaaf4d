import { describe, postForJson, type JsonAnswer } from './json-exchange.js';
import { TenantRefusal, unavailable } from './tenant-error.js';
import type { ResolvedTenantService } from '../options/tenant-options.js';

/** A token as it is kept; times by the monotonic clock of this process, in ms. */
interface Held {
  readonly access: string;
  readonly until: number;
  readonly refresh: string | undefined;
  readonly refreshUntil: number;
}

const who = 'the token service';
/** A token that expires sooner is not begun with: it has to arrive before it expires. */
const marginMs = 10_000;
/** Of a token whose answer does not say when it expires. */
const unsaidSeconds = 60;

/**
 * The access token of the credentials service, by the password grant first and by the refresh grant as long as that
 * is possible. Callers share a request that is under way.
 */
export class AccessToken {
  readonly #service: ResolvedTenantService;
  readonly #restMs: number;
  #held: Held | undefined;
  #asking: Promise<Held> | undefined;
  #refusal: { readonly error: TenantRefusal; readonly until: number } | undefined;

  /** @param restMs how long a refused password is not tried again: accounts get locked */
  constructor(service: ResolvedTenantService, restMs: number) {
    this.#service = service;
    this.#restMs = restMs;
  }

  /** @throws {TarefaError} `TENANT_UNAVAILABLE` */
  async get(): Promise<string> {
    if (this.#held && isGood(this.#held.until)) return this.#held.access;
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return (await this.#asking).access;
  }

  /** Another one instead of a token that was refused, though it had not expired. */
  async replace(refused: string): Promise<string> {
    if (this.#held?.access === refused) this.#held = { ...this.#held, until: 0 };
    return this.get();
  }

  async #ask(): Promise<Held> {
    this.#held = (await this.#refresh()) ?? (await this.#logIn());
    return this.#held;
  }

  /** Undefined when there is nothing to refresh with, or no more. */
  async #refresh(): Promise<Held | undefined> {
    const refresh = this.#held?.refresh;
    if (refresh === undefined || !isGood(this.#held?.refreshUntil ?? 0)) return undefined;
    const { clientId } = this.#service;
    const asked = performance.now();
    const answer = await this.#post({
      grant_type: 'refresh_token',
      refresh_token: refresh,
      client_id: clientId,
    });
    if (isRefusal(answer)) return undefined;
    return this.#read(answer, asked, this.#held);
  }

  async #logIn(): Promise<Held> {
    if (this.#refusal && performance.now() < this.#refusal.until) throw this.#refusal.error;
    const { user, password, clientId } = this.#service;
    const asked = performance.now();
    const answer = await this.#post({
      grant_type: 'password',
      username: user,
      password,
      client_id: clientId,
      scope: 'offline_access',
    });
    if (isRefusal(answer)) {
      const error = new TenantRefusal(
        `${this.#whom} answered ${answer.status}: check user, password and clientId of tenantDatabases.service`,
      );
      this.#refusal = { error, until: performance.now() + this.#restMs };
      throw error;
    }
    return this.#read(answer, asked, undefined);
  }

  #post(form: Readonly<Record<string, string>>): Promise<JsonAnswer> {
    const { tokenUrl: url, timeoutMs } = this.#service;
    return postForJson({
      who,
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams(form).toString(),
      timeoutMs,
    });
  }

  /** Counted from before the request, so that a slow answer makes no token live longer. */
  #read({ status, fields }: JsonAnswer, asked: number, before: Held | undefined): Held {
    if (!fields) throw unavailable(`${this.#whom} answered ${status}`);
    const { access_token: access, refresh_token: next } = fields;
    if (typeof access !== 'string' || access === '' || hasControlCharacter(access)) {
      throw unavailable(`${this.#whom} answered without a usable access_token`);
    }
    const expiresIn = this.#seconds(fields, 'expires_in') ?? unsaidSeconds;
    const hasNext = typeof next === 'string' && next !== '';
    // Keycloak says 0 of tokens that do not expire.
    const refreshIn = this.#seconds(fields, 'refresh_expires_in') || Infinity;
    return {
      access,
      until: asked + expiresIn * 1_000,
      refresh: hasNext ? next : before?.refresh,
      refreshUntil: hasNext ? asked + refreshIn * 1_000 : (before?.refreshUntil ?? 0),
    };
  }

  #seconds(fields: Readonly<Record<string, unknown>>, name: string): number | undefined {
    const value = fields[name];
    if (value === undefined || value === null) return undefined;
    const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof seconds === 'number' && seconds >= 0) return seconds;
    throw unavailable(`${this.#whom} answered with an ${name} that is not a number of seconds`);
  }

  get #whom(): string {
    return describe({ who, url: this.#service.tokenUrl });
  }
}

function isGood(until: number): boolean {
  return performance.now() < until - marginMs;
}

/** What was sent will not do; other failures may pass. */
export function isRefusal({ status }: JsonAnswer): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** A header cannot hold it, and the error of `fetch` would show it. */
function hasControlCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x21 || code > 0x7e) return true;
  }
  return false;
}
