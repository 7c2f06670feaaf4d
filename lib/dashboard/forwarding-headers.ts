import type { DashboardRequest } from './request.js';

/**
 * Headers that proxies, load balancers, tunnels and content networks add to what they pass on. No browser or program
 * sends them to its own machine, so a request that has one came from somewhere else.
 */
const names: ReadonlySet<string> = new Set([
  'akamai-origin-hop',
  'ali-cdn-real-ip',
  'cdn-loop',
  'cdn-real-ip',
  'cdn-src-ip',
  'client-ip',
  'fastly-client-ip',
  'fastly-ff',
  'fly-client-ip',
  'forwarded',
  'forwarded-for',
  'incap-client-ip',
  'proxy-client-ip',
  'remote-addr',
  'true-client-ip',
  'via',
  'wl-proxy-client-ip',
  'x-akamai-edgescape',
  'x-amz-cf-id',
  'x-amzn-trace-id',
  'x-appengine-user-ip',
  'x-arr-log-id',
  'x-client-ip',
  'x-cloud-trace-context',
  'x-cluster-client-ip',
  'x-coming-from',
  'x-host',
  'x-nf-client-connection-ip',
  'x-original-host',
  'x-original-url',
  'x-originating-ip',
  'x-proxyuser-ip',
  'x-real-ip',
  'x-real-port',
  'x-remote-addr',
  'x-remote-ip',
  'x-rewrite-url',
  'x-scheme',
  'x-sucuri-clientip',
]);

/** What the names of whole families of such headers begin with. */
const families: readonly string[] = [
  'cf-',
  'tailscale-',
  'x-azure-',
  'x-envoy-',
  'x-forwarded',
  'x-original-forwarded',
  'x-vercel-',
];

/** The name of a header which says that the request was passed on; undefined when none does. */
export function forwardingHeader({ headers }: DashboardRequest): string | undefined {
  return Object.keys(headers).find((given) => {
    // Some servers hand names on with underscores.
    const name = given.toLowerCase().replaceAll('_', '-');
    return names.has(name) || families.some((family) => name.startsWith(family));
  });
}
