import { BlockList, isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { TarefaError } from '../errors.js';

/**
 * Ranges that are not the public internet (IANA's special-purpose registries), by the word that messages use.
 * Of IPv6, everything outside of 2000::/3 is refused as well.
 */
const refusedRanges: Readonly<Record<string, readonly string[]>> = {
  unspecified: ['0.0.0.0/8', '::/128'],
  loopback: ['127.0.0.0/8', '::1/128'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7', 'fec0::/10'],
  'link-local': ['169.254.0.0/16', 'fe80::/10'],
  // A public address, but within a large cloud it leads to the cloud's own services.
  'cloud-internal': ['168.63.129.16/32'],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  // IPv4 addresses within IPv6 ones (NAT64, 6to4; Teredo is in 2001::/23): a gateway would unwrap them unchecked.
  translated: ['64:ff9b::/96', '64:ff9b:1::/48', '2002::/16'],
  reserved: [
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '240.0.0.0/4',
    '2001::/23',
    '2001:db8::/32',
    '3fff::/20',
  ],
};

const refusedLists = Object.entries(refusedRanges).map(([kind, ranges]) => ({ kind, list: listOf(ranges) }));
const publicIPv6 = listOf(['2000::/3']);

/**
 * Which addresses webhooks may connect to: the public internet, and what the allow-list names.
 *
 * @example new AddressPolicy(['10.20.0.0/16', '::1', 'localhost'])
 */
export class AddressPolicy {
  readonly #allowed = new BlockList();
  readonly #allowedHosts = new Set<string>();

  /**
   * @param allowed CIDR ranges, addresses, and host names; a name allows every address that it resolves to
   * @throws {TarefaError} `OPTIONS_INVALID`
   */
  constructor(allowed: readonly string[] = []) {
    for (const entry of allowed) this.#allow(entry);
  }

  /**
   * The kind of address when it may not be connected to (`private`, `loopback`, …); undefined when it may.
   *
   * @param host the name that the address was found under
   */
  refusal(address: string, host?: string): string | undefined {
    if (isIP(address) === 0) return 'unreadable';
    const type = typeOf(address);
    if (host !== undefined && this.#allowedHosts.has(host)) return undefined;
    if (this.#allowed.check(address, type)) return undefined;
    // Lists find mapped addresses, such as ::ffff:127.0.0.1, in their IPv4 ranges.
    const found = refusedLists.find(({ list }) => list.check(address, type));
    if (found) return found.kind;
    return type === 'ipv6' && !publicIPv6.check(address, type) ? 'reserved' : undefined;
  }

  #allow(entry: string): void {
    if (isIP(entry) !== 0) return this.#allowed.addAddress(entry, typeOf(entry));
    if (addSubnet(this.#allowed, entry)) return undefined;
    // Not what the conversion would cut off, or take for an address.
    const name = /[\s/:?#@\\]/.test(entry) ? '' : domainToASCII(entry).replace(/\.$/, '');
    if (/^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(name) && isIP(name) === 0) {
      return void this.#allowedHosts.add(name);
    }
    throw new TarefaError(
      'OPTIONS_INVALID',
      `allowed addresses of webhooks: ${JSON.stringify(entry)} is not a CIDR range, an address or a host name`,
    );
  }
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) addSubnet(list, range);
  return list;
}

/** False when the text is not a CIDR range. */
function addSubnet(list: BlockList, range: string): boolean {
  const [, network = '', bits] = /^([^/]+)\/(\d{1,3})$/.exec(range) ?? [];
  const family = isIP(network);
  if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) return false;
  list.addSubnet(network, Number(bits), typeOf(network));
  return true;
}

function typeOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
