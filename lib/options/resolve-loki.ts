import { readLokiAddress, type LokiAddress } from './loki-address.js';
import type { LokiOptions } from './loki-options.js';
import type { OptionCheck } from './option-check.js';
import type { Environment } from './variables.js';

/** Default, least and most of each. */
const amountBounds = {
  intervalMs: [1_000, 1, 3_600_000],
  batchLines: [1_000, 1, 100_000],
  batchBytes: [262_144, 1_024, 2 ** 26],
  bufferLines: [10_000, 1, 10_000_000],
  bufferBytes: [4_194_304, 1_024, 2 ** 30],
  timeoutMs: [10_000, 1, 600_000],
  flushMs: [3_000, 0, 60_000],
} as const satisfies { readonly [Name in keyof LokiOptions]: readonly [number, number, number] };
type AmountName = keyof typeof amountBounds;
const amountNames = Object.keys(amountBounds) as readonly AmountName[];

/** The options of `loki`, checked and complete. */
export interface ResolvedLokiOptions extends Readonly<Record<AmountName, number>> {
  readonly address: LokiAddress;
  /** Of every line; level and component come to it. */
  readonly labels: Readonly<Record<string, string>>;
  readonly gzip: boolean;
}

const known: Readonly<Record<keyof LokiOptions, true>> = {
  url: true,
  env: true,
  labels: true,
  tenant: true,
  headers: true,
  basicAuth: true,
  gzip: true,
  intervalMs: true,
  batchLines: true,
  batchBytes: true,
  bufferLines: true,
  bufferBytes: true,
  timeoutMs: true,
  flushMs: true,
};

/** These tell lines of a queue apart. */
const ownLabels: readonly string[] = ['queue', 'level', 'component'];
/** Loki takes fifteen; five are made here. */
const mostLabels = 10;
const longestLabel = 1_024;

/** Checks the option `loki`; undefined where nothing is pushed. */
export function resolveLoki(
  given: LokiOptions | false | undefined,
  queue: string,
  env: Environment,
  check: OptionCheck,
): ResolvedLokiOptions | undefined {
  if (given === false) return undefined;
  if (given !== undefined && (typeof given !== 'object' || Array.isArray(given))) {
    check.mistake('loki must be an object, or false');
    return undefined;
  }
  // What is null was not given, as everywhere.
  const options: LokiOptions = Object.fromEntries(
    Object.entries(given ?? {}).filter(([, value]) => value !== undefined && value !== null),
  );
  check.known(Object.keys(options), Object.keys(known), 'loki.');
  const address = readLokiAddress(options, env['GRAFANA_URL'], check);
  const labels = readLabels(options, queue, env, check);
  const gzip = check.boolean('loki.gzip', options.gzip ?? false);
  const amounts = Object.fromEntries(
    amountNames.map((name) => {
      const [usual, least, most] = amountBounds[name];
      return [name, check.whole(`loki.${name}`, options[name] ?? usual, least, most)];
    }),
  ) as Record<AmountName, number>;
  return address && Object.freeze({ address, labels, gzip, ...amounts });
}

function readLabels(
  { labels = {}, env: given }: LokiOptions,
  queue: string,
  env: Environment,
  check: OptionCheck,
): Readonly<Record<string, string>> {
  if (given !== undefined && (typeof given !== 'string' || given.trim() === '')) {
    check.mistake('loki.env must be text');
  }
  const named = typeof given === 'string' ? given : env['ENV'];
  return Object.freeze({
    ...environmentLabel(named?.trim() || 'DEV'),
    app: 'nestjs-tarefa',
    ...checkLabels(labels, check),
    queue,
  });
}

/** As python-logging-loki made it: blanks, dots and hyphens become underscores, what else labels cannot have goes. */
function environmentLabel(env: string): Readonly<Record<string, string>> {
  const name = env
    .slice(0, 100)
    .toUpperCase()
    .replaceAll(/[ .-]/g, '_')
    .replaceAll(/[^A-Z0-9_]/g, '')
    .replace(/^(?=\d)/, '_');
  return { [`${name}_flask_api_skeleton`]: `${env.slice(0, 100).toLowerCase()}_log` };
}

function checkLabels(labels: unknown, check: OptionCheck): Readonly<Record<string, string>> {
  if (typeof labels !== 'object' || labels === null || Array.isArray(labels)) {
    check.mistake('loki.labels must be an object of strings by name');
    return {};
  }
  const entries = Object.entries(labels as Readonly<Record<string, unknown>>);
  if (entries.length > mostLabels) {
    check.mistake(`loki.labels can have at most ${mostLabels} labels, not ${entries.length}`);
  }
  for (const [name, value] of entries) {
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(name) || name.startsWith('__')) {
      check.mistake(`loki.labels: ${JSON.stringify(name)} is not a valid label name`);
    } else if (ownLabels.includes(name)) {
      check.mistake(`loki.labels: ${name} is set by the library`);
    } else if (typeof value !== 'string' || value === '' || value.length > longestLabel) {
      check.mistake(`loki.labels.${name} must be text of at most ${longestLabel} characters`);
    }
  }
  return Object.fromEntries(entries) as Readonly<Record<string, string>>;
}
