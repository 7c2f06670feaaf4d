import { runInThisContext } from 'node:vm';
import { expect, test } from 'vitest';
import { readCancellable, readCancellation } from '../../lib/admin/cancellation.js';
import { fieldNames as subscriptionFields, valuesOf } from '../../lib/admin/subscription-input.js';
import { readSelection } from '../../lib/admin/task-filter.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { readRule, readScheduleId } from '../../lib/client/schedule-input.js';
import { encodeTask, taskFields } from '../../lib/client/task-input.js';
import { cleanText } from '../../lib/observability/clean-text.js';
import { Redaction } from '../../lib/redaction/redaction.js';
import { readId } from '../../lib/values/attempt-id.js';
import { failureDetail, failureMessage } from '../../lib/values/failure-text.js';
import { retryAfterMs } from '../../lib/values/retry-after.js';
import { cleanMessage, decodeText } from '../../lib/values/stored-text.js';
import { readSecret } from '../../lib/webhooks/signing-secret.js';
import { describeUrl } from '../../lib/webhooks/webhook-url.js';

const size = 1_000_000;
const filled = (part: string): string => part.repeat(size / part.length);

/** Texts that a careless expression, or a loop within a loop, reads again from each of their characters. */
const texts: Readonly<Record<string, string>> = {
  letters: filled('a'),
  digits: filled('1'),
  blanks: `${filled(' ')}x`,
  'line breaks': filled('\n'),
  slashes: `${filled('/')}\n`,
  names: filled('a.'),
  lists: filled('1,'),
  pairs: filled('a=b '),
  credentials: `http://${filled('a:')}@`,
  'an address': `http://${filled('a.')}/`,
  quotes: filled('"'),
  backslashes: filled('\\'),
  brackets: filled('['),
  objects: filled('{"a":'),
  'half surrogate pairs': filled('\ud800'),
};

const any = (given: object): never => given as never;

/** Whatever takes a text that is not the library's own, with that text in each of its places. */
const calls: Readonly<Record<string, (text: string) => unknown>> = {
  options: (text) =>
    resolveOptions(
      any({
        ...textsOf(text, 'connection', 'queue', 'table', 'subscriptionTable', 'schema', 'embeddedDataDir'),
        ...textsOf(text, 'wake', 'order', 'unknownTasks', 'interop'),
        ...textsOf(text, 'retryMinutes', 'notifyMinutes', 'purgeMinutes'),
        errorProperties: [text],
        lanes: { [text]: 1 },
        webhooks: {
          ...textsOf(text, 'redirects', 'schedule', 'secretKeys'),
          allowedAddresses: [text],
          dnsServers: [text],
          ca: [text],
        },
        server: { host: text },
        tenantDatabases: {
          dedupTable: text,
          service: textsOf(text, 'user', 'password', 'clientId', 'credentialsUrl', 'tokenUrl'),
        },
        isolation: textsOf(text, 'module', 'outputDir'),
        loki: {
          ...textsOf(text, 'url', 'env', 'tenant'),
          labels: { [text]: text },
          headers: { [text]: text },
          basicAuth: { username: text, password: text },
        },
      }),
      {},
    ),
  'variables of the environment': (text) => {
    const modes = ['MULTI_DATABASE', 'CLIENT_SERVER_MODE'];
    const env = new Proxy({}, { get: (_, name) => (modes.includes(String(name)) ? 'TRUE' : text) });
    return resolveOptions({}, env);
  },
  ...each('the field of a task', [...taskFields], (field, text) =>
    encodeTask(any({ topic: 'a', [field]: text }), false, 2 * size),
  ),
  'a payload': (text) => encodeTask({ payload: { text } }, false, 10 * size),
  metadata: (text) => encodeTask({ metadata: { [text]: text } }, false, size),
  'a unique key': (text) => encodeTask({ unique: { key: text, window: text } }, false, size),
  'the id of a schedule': (text) => readScheduleId(text),
  ...each('the rule of a schedule', ['cron', 'timezone', 'startsAt', 'missed', 'overlap'], (field, text) =>
    readRule(any({ cron: '* * * * *', [field]: text })),
  ),
  ...each('the field of a subscription', subscriptionFields, (field, text) =>
    valuesOf({ id: 'a', topic: 'a', [field]: field === 'headers' ? { [text]: text } : text }),
  ),
  ...each(
    'the filter by',
    [
      'status',
      'topic',
      'subscriptionId',
      'externalKey',
      'tenant',
      'group',
      'publicationId',
      'message',
      'payload',
    ],
    (field, text) => readSelection(any({ [field]: text })),
  ),
  'an id': readId,
  'what to cancel': (text) => readCancellable({ topic: text, externalKey: text }),
  'why to cancel': (text) => readCancellation({ by: text, reason: text }),
  'a stored payload': (text) => decodeText(text, 'json'),
  'a message': cleanMessage,
  'an error': (text) => [failureMessage(new Error(text)), failureDetail(new Error(text))],
  'a line of the log': (text) => cleanText(text, 2 * size),
  'what is shown': (text) => new Redaction(['a.b', 'cpf']).text(text),
  'JSON that is shown': (text) => new Redaction(['a.b', 'cpf']).text(JSON.stringify({ text, [text]: 1 })),
  'a header of an answer': (text) => retryAfterMs(text, { baseMs: 0 }),
  'a secret': (text) => readSecret(`whsec_${text}`),
  'the address of a webhook': describeUrl,
};

test.each(Object.keys(texts))(
  'a text of a megabyte is read or refused, and no call goes on for ever: %s',
  (name) => {
    const text = texts[name] ?? '';
    const endless = Object.entries(calls).flatMap(([what, call]) =>
      endsWithin(10_000, () => call(text)) ? [] : [what],
    );
    expect(endless).toEqual([]);
  },
  120_000,
);

test('what takes a power of its text, or its square, is found', () => {
  expect(endsWithin(100, () => /(a+)+$/.test(`${'a'.repeat(50)}b`))).toBe(false);
  expect(endsWithin(100, () => /=+$/.test(`${'='.repeat(size)}a`))).toBe(false);
});

function textsOf(text: string, ...names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, text]));
}

function each(
  what: string,
  names: readonly string[],
  call: (name: string, text: string) => unknown,
): Readonly<Record<string, (text: string) => unknown>> {
  return Object.fromEntries(names.map((name) => [`${what} ${name}`, (text: string) => call(name, text)]));
}

/**
 * False when a call had to be ended. What reads a megabyte once takes a hundredth of a second; what does so for each of its
 * characters takes hours.
 */
function endsWithin(timeout: number, call: () => unknown): boolean {
  Object.assign(globalThis, { call });
  try {
    runInThisContext('call()', { timeout });
    return true;
  } catch (error) {
    return (error as { readonly code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT';
  } finally {
    Reflect.deleteProperty(globalThis, 'call');
  }
}
