import { mostRestMs } from '../storage/endpoints.js';
import { withoutUnset, type Some } from '../values/without-unset.js';
import type { OptionCheck } from './option-check.js';

/** How webhooks are delivered. */
export interface WebhookOptions {
  /** Requests at once in this process, beside its `concurrency`. Default 100. */
  readonly concurrency?: number | undefined;
  /**
   * Requests at once to one endpoint; one whose last answer was a failure, or that has not answered yet, gets one at a
   * time. Default 5.
   */
  readonly endpointConcurrency?: number | undefined;
  /** Ms for all of a request: name, connection, TLS, answer. Variable `DEFAULT_WEBHOOK_TIMEOUT` (seconds). Default 20000. */
  readonly timeoutMs?: number | undefined;
  /** `refuse`: only 2xx is a success. `follow`: redirects are followed, and 3xx is a success. Default `refuse`. */
  readonly redirects?: 'refuse' | 'follow' | undefined;
  /** Addresses to allow besides the public internet: CIDR ranges, addresses, host names. Default: none. */
  readonly allowedAddresses?: readonly string[] | undefined;
  /** Name servers, `address` or `address:port`. Default: the computer's. */
  readonly dnsServers?: readonly string[] | undefined;
  /** Certificates (PEM) of authorities to trust instead of Node's. Default: Node's. */
  readonly ca?: readonly string[] | undefined;
  /**
   * `queue`: attempts and intervals of the queue. `standard`: those of Standard Webhooks, ten attempts in about three
   * days. Default `queue`.
   */
  readonly schedule?: 'queue' | 'standard' | undefined;
  /** Days without a success after which a subscription is deactivated; false: never. Default: false, with `standard` 5. */
  readonly deactivateAfterDays?: number | false | undefined;
  /** When an endpoint rests: see {@link CircuitOptions}; false: never. Default `{ failures: 5, restMs: 30000, longestRestMs: 900000 }`. */
  readonly circuit?: Some<CircuitOptions> | false | undefined;
  /**
   * Keys that signing secrets are stored encrypted with: base64 of 32 bytes each; the first encrypts, all decrypt.
   * Default: none, secrets are stored as they are.
   */
  readonly secretKeys?: string | readonly string[] | undefined;
}

/** When an endpoint that fails is left alone. */
export interface CircuitOptions {
  /** Failures in a row. */
  readonly failures: number;
  /** The first rest; each one that follows takes twice as long. */
  readonly restMs: number;
  readonly longestRestMs: number;
}

/** The options of webhooks, checked and complete. */
export interface ResolvedWebhookOptions {
  readonly concurrency: number;
  readonly endpointConcurrency: number;
  readonly timeoutMs: number;
  readonly redirects: 'refuse' | 'follow';
  readonly allowedAddresses: readonly string[];
  readonly dnsServers: readonly string[] | undefined;
  readonly ca: readonly string[] | undefined;
  readonly schedule: 'queue' | 'standard';
  readonly deactivateAfterDays: number | undefined;
  readonly circuit: CircuitOptions | undefined;
  readonly secretKeys: readonly string[];
}

const defaultCircuit: CircuitOptions = { failures: 5, restMs: 30_000, longestRestMs: 900_000 };

const known: Readonly<Record<keyof WebhookOptions, true>> = {
  concurrency: true,
  endpointConcurrency: true,
  timeoutMs: true,
  redirects: true,
  allowedAddresses: true,
  dnsServers: true,
  ca: true,
  schedule: true,
  deactivateAfterDays: true,
  circuit: true,
  secretKeys: true,
};

/** Checks the option `webhooks`; undefined where webhooks are off. */
export function resolveWebhooks(
  given: boolean | WebhookOptions | undefined,
  timeoutFromEnvironment: number | undefined,
  check: OptionCheck,
): ResolvedWebhookOptions | undefined {
  if (given === undefined || given === false) return undefined;
  if (given !== true && (typeof given !== 'object' || Array.isArray(given))) {
    check.mistake(`webhooks must be true, false or an object, not ${String(given)}`);
    return undefined;
  }
  const options: WebhookOptions = given === true ? {} : given;
  check.known(Object.keys(options), Object.keys(known), 'webhooks.');
  const { schedule = 'queue' } = options;
  const days = options.deactivateAfterDays ?? (schedule === 'standard' ? 5 : false);
  return Object.freeze({
    concurrency: check.whole('webhooks.concurrency', options.concurrency ?? 100, 1, 10_000),
    endpointConcurrency: check.whole(
      'webhooks.endpointConcurrency',
      options.endpointConcurrency ?? 5,
      1,
      10_000,
    ),
    timeoutMs: check.whole(
      'webhooks.timeoutMs',
      options.timeoutMs ?? timeoutFromEnvironment ?? 20_000,
      1,
      3_600_000,
    ),
    redirects: check.oneOf('webhooks.redirects', options.redirects ?? 'refuse', ['refuse', 'follow']),
    allowedAddresses: texts('webhooks.allowedAddresses', options.allowedAddresses, check) ?? [],
    dnsServers: texts('webhooks.dnsServers', options.dnsServers, check),
    ca: texts('webhooks.ca', options.ca, check),
    schedule: check.oneOf('webhooks.schedule', schedule, ['queue', 'standard']),
    deactivateAfterDays:
      days === false ? undefined : check.number('webhooks.deactivateAfterDays', days, 0, 3_650),
    circuit: resolveCircuit(options.circuit, check),
    secretKeys:
      texts('webhooks.secretKeys', asList(options.secretKeys), check)?.filter((key) => isKey(key, check)) ??
      [],
  });
}

function resolveCircuit(given: WebhookOptions['circuit'], check: OptionCheck): CircuitOptions | undefined {
  if (given === false) return undefined;
  if (given !== undefined && typeof given !== 'object') {
    check.mistake(`webhooks.circuit must be false or an object, not ${String(given)}`);
    return undefined;
  }
  check.known(Object.keys(given ?? {}), Object.keys(defaultCircuit), 'webhooks.circuit.');
  const { failures, restMs, longestRestMs } = { ...defaultCircuit, ...withoutUnset(given ?? {}) };
  return Object.freeze({
    failures: check.whole('webhooks.circuit.failures', failures, 1, 1_000_000),
    restMs: check.number('webhooks.circuit.restMs', restMs, 1, mostRestMs),
    longestRestMs: check.number('webhooks.circuit.longestRestMs', longestRestMs, 1, mostRestMs),
  });
}

function asList(value: string | readonly string[] | undefined): readonly string[] | undefined {
  return typeof value === 'string' ? [value] : value;
}

function texts(
  option: string,
  value: readonly string[] | undefined,
  check: OptionCheck,
): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return Object.freeze([...value]);
  check.mistake(`${option} must be a list of strings`);
  return undefined;
}

/** Never shows the key. */
function isKey(key: string, check: OptionCheck): boolean {
  const isGood = /^[A-Za-z0-9+/_-]{43}=?$/.test(key);
  if (!isGood)
    check.mistake(
      'webhooks.secretKeys: a key must be 32 bytes in base64, as `openssl rand -base64 32` prints it',
    );
  return isGood;
}
