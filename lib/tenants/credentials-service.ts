import { AccessToken, isRefusal } from './access-token.js';
import { describe, postForJson, type JsonAnswer } from './json-exchange.js';
import { TenantRefusal, unavailable } from './tenant-error.js';
import type { ResolvedTenantService } from '../options/tenant-options.js';

const who = 'the credentials service';
const unauthorized = 401;

/** Where a tenant's database is, and who may use it. */
export interface TenantAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
  readonly ssl?: ResolvedTenantService['ssl'];
}

/** Finds out where a tenant's database is by asking the service that knows the credentials of all. */
export class CredentialsService {
  readonly #service: ResolvedTenantService;
  readonly #token: AccessToken;

  constructor(service: ResolvedTenantService, restMs: number) {
    this.#service = service;
    this.#token = new AccessToken(service, restMs);
  }

  /** @throws {TarefaError} `TENANT_UNAVAILABLE` */
  async resolve(tenant: string): Promise<TenantAddress> {
    const token = await this.#token.get();
    let answer = await this.#ask(tenant, token);
    // It may have been withdrawn before its time.
    if (answer.status === unauthorized) answer = await this.#ask(tenant, await this.#token.replace(token));
    if (answer.fields) return this.#read(answer.fields);
    const what = `${this.#whom} answered ${answer.status} for tenant ${tenant}`;
    throw isRefusal(answer) ? new TenantRefusal(what) : unavailable(what);
  }

  #ask(tenant: string, token: string): Promise<JsonAnswer> {
    const { credentialsUrl: url, timeoutMs } = this.#service;
    return postForJson({
      who,
      url,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        authorization: `Bearer ${token}`,
      },
      // A number, as nsj-queue-lib sends it; written as text, because it may be beyond 2^53.
      body: `{"tenant":${isWhole(tenant) ? tenant : JSON.stringify(tenant)}}`,
      timeoutMs,
    });
  }

  #read(fields: Readonly<Record<string, unknown>>): TenantAddress {
    const { ssl } = this.#service;
    const text = (name: string): string => {
      const value = fields[name];
      if (typeof value === 'string' && value !== '') return value;
      throw unavailable(`${this.#whom} answered without a usable ${name}`);
    };
    const { password } = fields;
    if (typeof password !== 'string') throw unavailable(`${this.#whom} answered without a usable password`);
    const port = Number(fields['port']);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw unavailable(`${this.#whom} answered without a usable port`);
    }
    return {
      host: text('hostname'),
      port,
      database: text('db_name'),
      user: text('user'),
      password,
      ...(ssl === undefined ? {} : { ssl }),
    };
  }

  get #whom(): string {
    return describe({ who, url: this.#service.credentialsUrl });
  }
}

/** As the column holds it. */
function isWhole(tenant: string): boolean {
  return /^(0|-?[1-9]\d{0,18})$/.test(tenant);
}
