import { Resolver } from 'node:dns/promises';
import { TarefaError } from '../errors.js';
import { HostsFile } from './hosts-file.js';
import { systemCodeOf, WebhookFailure } from './webhook-failure.js';
import { isLocalhost } from './webhook-url.js';

/** How names are resolved. */
export interface NameResolverOptions {
  /** Name servers, `address` or `address:port`. Default: the computer's. */
  readonly dnsServers?: readonly string[] | undefined;
  /** Default: the computer's. */
  readonly hostsFile?: string | undefined;
}

/** For one question to one server; doubled when it is asked again. */
const queryTimeoutMs = 2_000;
const tries = 2;

/**
 * Resolves names by asking name servers itself (c-ares), after the hosts file. `dns.lookup`, which everything else
 * in Node uses, occupies one of four threads until the name server answers; a few dead ones would stop the
 * process's files and hashes.
 *
 * Unlike `dns.lookup` it knows no search domains: names have to be complete.
 */
export class NameResolver {
  readonly #servers: readonly string[] | undefined;
  readonly #hosts: HostsFile;

  /** @throws {TarefaError} `OPTIONS_INVALID` */
  constructor({ dnsServers, hostsFile }: NameResolverOptions = {}) {
    this.#servers = dnsServers;
    this.#hosts = new HostsFile(hostsFile);
    try {
      this.#createResolver();
    } catch (cause) {
      throw new TarefaError(
        'OPTIONS_INVALID',
        `name servers of webhooks: ${JSON.stringify(dnsServers)} must be addresses, with or without a port`,
        { cause },
      );
    }
  }

  /**
   * All addresses of a name, of both kinds in turn, since a computer may lack either.
   *
   * @throws {WebhookFailure} `dns`; what the signal was aborted with
   */
  async resolve(name: string, signal: AbortSignal): Promise<readonly string[]> {
    if (isLocalhost(name)) return ['127.0.0.1', '::1'];
    const known = await this.#hosts.find(name);
    return known.length > 0 ? known : await this.#ask(name, signal);
  }

  async #ask(name: string, signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    // One resolver per question, for that is what can be cancelled.
    const resolver = this.#createResolver();
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel);
    try {
      const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      signal.throwIfAborted();
      const [v4 = [], v6 = []] = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      const addresses = inTurn(v4, v6);
      if (addresses.length > 0) return addresses;
      throw unresolved(
        name,
        answers.map((answer) => (answer.status === 'rejected' ? systemCodeOf(answer.reason) : undefined)),
      );
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  #createResolver(): Resolver {
    const resolver = new Resolver({ timeout: queryTimeoutMs, tries });
    if (this.#servers) resolver.setServers(this.#servers);
    return resolver;
  }
}

/** IPv4 first: computers without IPv6 are more common than those without IPv4. */
function inTurn(v4: readonly string[], v6: readonly string[]): readonly string[] {
  const most = Math.max(v4.length, v6.length);
  return Array.from({ length: most }, (_, index) => [v4[index], v6[index]])
    .flat()
    .filter((address) => address !== undefined);
}

/** "No such name" is an answer; anything else is a fault of name servers, and says more. */
function unresolved(name: string, codes: readonly (string | undefined)[]): WebhookFailure {
  const fault = codes.find((code) => code !== undefined && code !== 'ENOTFOUND' && code !== 'ENODATA');
  const systemCode = fault ?? codes.find((code) => code !== undefined);
  const reasons: Readonly<Record<string, string>> = {
    ETIMEOUT: 'no name server responded',
    ECONNREFUSED: 'no name server could be reached',
    ESERVFAIL: 'the name server failed to resolve it',
    EBADNAME: 'invalid host name',
  };
  const reason = fault === undefined ? 'it has none' : (reasons[fault] ?? `name server: ${fault}`);
  return new WebhookFailure('dns', `the address of ${name} could not be resolved: ${reason}`, {
    host: name,
    systemCode,
  });
}
