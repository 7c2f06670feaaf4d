import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { AddressPolicy } from './address-policy.js';
import type { RequestProgress } from './request-progress.js';
import { dialAny } from './dial.js';
import type { NameResolver } from './name-resolver.js';
import { systemCodeOf, WebhookFailure } from './webhook-failure.js';
import { hostOf, refusedAddress } from './webhook-url.js';

/** Opens connections for webhooks: what is checked is what is dialled, so a name cannot change in between. */
export class WebhookConnector {
  readonly #policy: AddressPolicy;
  readonly #resolver: NameResolver;
  readonly #ca: readonly string[] | undefined;

  /** @param ca certificates of authorities to trust instead of Node's */
  constructor(policy: AddressPolicy, resolver: NameResolver, ca: readonly string[] | undefined) {
    this.#policy = policy;
    this.#resolver = resolver;
    this.#ca = ca;
  }

  /**
   * Connects to a URL's origin, with TLS where it says https. Nothing has been written but TLS's own greeting.
   *
   * @throws {WebhookFailure}
   */
  async connect(url: URL, progress: RequestProgress): Promise<Socket> {
    const host = hostOf(url);
    const socket = await this.#dial(host, await this.#addresses(host, progress), portOf(url), progress);
    // Again, for whatever lies between a checked address and a connected socket.
    const remote = socket.remoteAddress;
    const kind = remote === undefined ? undefined : this.#policy.refusal(remote, host);
    if (remote === undefined || kind !== undefined) {
      socket.destroy();
      throw kind === undefined ? lostAtOnce(host) : refusedAddress(host, kind, remote ?? '');
    }
    return url.protocol === 'https:' ? await this.#secure(socket, host, progress) : socket;
  }

  /** All addresses of a host; one that is refused refuses them all. */
  async #addresses(host: string, progress: RequestProgress): Promise<readonly string[]> {
    progress.phase = 'name';
    const addresses = isIP(host) === 0 ? await this.#resolver.resolve(host, progress.signal) : [host];
    for (const address of addresses) {
      const kind = this.#policy.refusal(address, host);
      if (kind !== undefined) throw refusedAddress(host, kind, address);
    }
    return addresses;
  }

  async #dial(
    host: string,
    addresses: readonly string[],
    port: number,
    progress: RequestProgress,
  ): Promise<Socket> {
    progress.phase = 'connect';
    try {
      return await dialAny(addresses, port, progress.signal);
    } catch (error) {
      progress.signal.throwIfAborted();
      const systemCode = systemCodeOf(error);
      const reason = (systemCode && connectReasons[systemCode]) ?? systemCode ?? 'the connection failed';
      throw new WebhookFailure('connect', `${host}, port ${port}, could not be reached: ${reason}`, {
        host,
        systemCode,
      });
    }
  }

  async #secure(socket: Socket, host: string, progress: RequestProgress): Promise<TLSSocket> {
    progress.phase = 'tls';
    // `host` is what the certificate is compared with; explicit, so that no environment variable switches it off.
    const secured = connectTls({
      socket,
      host,
      ...(isIP(host) === 0 && { servername: host }),
      ...(this.#ca && { ca: [...this.#ca] }),
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
    });
    const giveUp = (): void => void secured.destroy(progress.signal.reason as Error);
    progress.signal.addEventListener('abort', giveUp);
    try {
      await new Promise<void>((resolve, reject) => {
        secured.once('secureConnect', resolve);
        secured.on('error', reject);
        secured.once('close', () => reject(new Error('closed')));
      });
      return secured;
    } catch (error) {
      secured.destroy();
      socket.destroy();
      progress.signal.throwIfAborted();
      throw untrusted(host, error);
    } finally {
      progress.signal.removeEventListener('abort', giveUp);
    }
  }
}

const connectReasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing is listening there',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to its network',
  ECONNRESET: 'it closed the connection at once',
  ETIMEDOUT: 'it did not respond',
};

const tlsReasons: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by an untrusted authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is signed by an unknown authority',
  EPROTO: 'it does not speak TLS on this port, or no supported version',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS on this port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS on this port',
};

function lostAtOnce(host: string): WebhookFailure {
  return new WebhookFailure('reset', `${host} accepted a connection and closed it at once`, { host });
}

function untrusted(host: string, error: unknown): WebhookFailure {
  const systemCode = systemCodeOf(error);
  const reason = (systemCode && tlsReasons[systemCode]) ?? systemCode ?? 'it closed the connection';
  return new WebhookFailure('tls', `no secure connection to ${host}: ${reason}`, { host, systemCode });
}

function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}
