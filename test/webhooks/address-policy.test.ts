import { expect, test } from 'vitest';
import { AddressPolicy } from '../../lib/webhooks/address-policy.js';
import { WebhookFailure } from '../../lib/webhooks/webhook-failure.js';
import { describeUrl, hostOf, readWebhookUrl } from '../../lib/webhooks/webhook-url.js';

const policy = new AddressPolicy();

/** Why a URL is refused; its host when it is not. */
function read(url: string, allowed: readonly string[] = []): string {
  try {
    return hostOf(readWebhookUrl(url, new AddressPolicy(allowed)));
  } catch (error) {
    if (error instanceof WebhookFailure) return error.kind;
    throw error;
  }
}

/** What is said about each address, so that a failing test names it. */
function refusals(by: AddressPolicy, addresses: readonly string[]): readonly string[] {
  return addresses.map((address) => `${address}: ${by.refusal(address) ?? 'public'}`);
}

test.each([
  ['unspecified', ['0.0.0.0', '0.1.2.3', '::']],
  ['loopback', ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1']],
  ['private', ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1']],
  ['private', ['100.127.255.255', 'fc00::1', 'fdff:ffff::1', 'fd00:ec2::254', 'fec0::1', '::ffff:10.0.0.1']],
  ['link-local', ['169.254.169.254', 'fe80::1', 'febf::1', 'fe80::1%eth0', '::ffff:169.254.169.254']],
  ['cloud-internal', ['168.63.129.16']],
  ['multicast', ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1']],
  [
    'translated',
    ['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::1', '2002:7f00:1::', '2002:c0a8:101::1'],
  ],
  ['reserved', ['192.0.0.192', '192.0.2.1', '192.88.99.1', '198.18.0.1', '198.19.255.255', '198.51.100.1']],
  ['reserved', ['203.0.113.1', '240.0.0.1', '255.255.255.255', '2001:db8::1', '2001::1', '2001:10::1']],
  [
    'reserved',
    ['3fff::1', '100::1', '5f00::1', '4000::1', '::7f00:1', '::ffff:0:127.0.0.1', '::ffff:8.8.8.8'],
  ],
  ['unreadable', ['', 'localhost', '1.2.3', '1.2.3.4.5', '127.1']],
])('not the public internet: %s %s', (kind, addresses) => {
  expect(refusals(policy, addresses)).toEqual(addresses.map((address) => `${address}: ${kind}`));
});

test('public addresses pass, also those next to refused ranges', () => {
  const addresses = [
    ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '126.255.255.255', '128.0.0.1', '100.63.255.255'],
    ...['100.128.0.0', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255'],
    ...['192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255', '168.63.129.17'],
    ...['2606:4700::1111', '2a00:1450:4001::1', '2001:4860:4860::8888', '2003::1'],
  ];
  expect(refusals(policy, addresses)).toEqual(addresses.map((address) => `${address}: public`));
});

test('the allow-list takes ranges, addresses and host names, and nothing beside them', () => {
  const allowing = new AddressPolicy([
    '10.20.0.0/16',
    '127.0.0.1',
    'fd00:1::/32',
    '::1',
    'Receiver.Internal.',
  ]);
  const within = ['10.20.255.1', '127.0.0.1', '::ffff:127.0.0.1', '::1', 'fd00:1:2::3'];
  expect(within.filter((address) => allowing.refusal(address) !== undefined)).toEqual([]);
  const beside = ['10.21.0.1', '127.0.0.2', '::2', 'fd00:2::1', '169.254.169.254'];
  expect(beside.filter((address) => allowing.refusal(address) === undefined)).toEqual([]);
  expect(allowing.refusal('192.168.0.1', 'receiver.internal')).toBeUndefined();
  expect(allowing.refusal('192.168.0.1', 'other.receiver.internal')).toBe('private');
  for (const entry of [
    '',
    '10.0.0.0/33',
    '10.0.0/8',
    '::/129',
    '1.2.3.4/8/8',
    'a b',
    '*',
    '10.0.0.0/',
    '.',
    '127.1',
    'localhost:80',
  ]) {
    expect(() => new AddressPolicy([entry])).toThrow(expect.objectContaining({ code: 'OPTIONS_INVALID' }));
  }
});

test('every spelling of a private address is that address', () => {
  const hosts = [
    ...['127.0.0.1', '127.1', '127.0.1', '0x7f.1', '0x7f000001', '2130706433', '017700000001', '0177.0.0.01'],
    ...[
      '127.0.0.1.',
      '127.1.',
      '①②⑦.⓪.⓪.①',
      '１２７。０。０。１',
      '127%2e0%2e0%2e1',
      '%31%32%37.0.0.1',
      '0',
      '0.0.0.0',
    ],
    ...['169.254.169.254', '0xa9fea9fe', '2852039166', '0251.0376.0251.0376', '10.1', '192.168.257'],
    ...[
      '[::1]',
      '[::]',
      '[0:0:0:0:0:0:0:1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[0:0:0:0:0:ffff:7f00:1]',
    ],
    ...[
      '[::127.0.0.1]',
      '[64:ff9b::127.0.0.1]',
      '[2002:7f00:1::]',
      '[fe80::1]',
      '[fd00::1]',
      '[::ffff:a9fe:a9fe]',
    ],
    ...['localhost', 'LOCALHOST', 'localhost.', 'LocalHost.', 'a.localhost', 'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ', 'loca%6chost'],
  ];
  const urls = hosts.flatMap((host) => [
    `http://${host}/`,
    `https://${host}:8443/hook?x=1`,
    `HTTP://${host}`,
  ]);
  expect(urls.filter((url) => read(url) !== 'refused-address')).toEqual([]);
});

test('URLs that are no address of a receiver are refused', () => {
  const urls = [
    ...[
      '',
      'hooks.example.com/x',
      '/hook',
      'https://',
      'https:///',
      'http://[::1',
      'http://[fe80::1%25eth0]/',
    ],
    ...[
      'ftp://example.com/',
      'file:///etc/passwd',
      'gopher://example.com/',
      'javascript:alert(1)',
      'unix:/run/x',
    ],
    ...['data:,x', 'ws://example.com', 'blob:https://example.com/1', 'http+unix://%2Frun%2Fx'],
    ...['https://user:secret@example.com/', 'https://user@example.com/', 'https://:secret@example.com/'],
    ...['http://256.256.256.256/', 'http://1.2.3.4.5/', 'http://exa mple.com/', 'http://a:99999/'],
    `https://example.com/${'x'.repeat(2_048)}`,
  ];
  expect(urls.filter((url) => read(url) !== 'refused-url')).toEqual([]);
  expect(() => readWebhookUrl('https://user:hunter2@example.com/?key=abc', policy)).not.toThrow(
    /hunter2|abc/,
  );
});

test('ordinary URLs pass, and allowed ones', () => {
  expect(read('https://hooks.example.com/a?b=c#d')).toBe('hooks.example.com');
  expect(read('HTTPS://Hooks.Example.COM./a')).toBe('hooks.example.com');
  expect(read('http://bücher.example:8080')).toBe('xn--bcher-kva.example');
  expect(read('http://8.8.8.8/')).toBe('8.8.8.8');
  expect(read('http://[2606:4700::1111]/')).toBe('2606:4700::1111');
  expect(read(`https://example.com/${'x'.repeat(2_028)}`)).toBe('example.com');
  expect(read('http://127.1:3000/', ['127.0.0.1'])).toBe('127.0.0.1');
  expect(read('http://localhost.:3000/', ['localhost'])).toBe('localhost');
  expect(read('http://localhost:3000/', ['127.0.0.0/8', '::1'])).toBe('localhost');
  expect(read('http://localhost:3000/', ['127.0.0.0/8'])).toBe('refused-address');
});

test('a URL is shown without its query, user and fragment, and in part when it is long', () => {
  expect(describeUrl('https://user:secret@example.com:8443/a/b?token=abc#part')).toBe(
    'https://example.com:8443/a/b',
  );
  expect(describeUrl(`https://example.com/${'x'.repeat(1_000)}`).length).toBeLessThanOrEqual(201);
  expect(describeUrl('secret nonsense')).toBe('(no URL)');
});
