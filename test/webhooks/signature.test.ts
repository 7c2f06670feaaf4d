import { inspect } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { sign, verifySignature, WebhookSignatureError } from '../../lib/webhooks/signature.js';
import { generateKeyPair, generateSecret, readSecret } from '../../lib/webhooks/signing-secret.js';

const seconds = (): number => Math.floor(Date.now() / 1_000);
const bodies = [
  '{"test": 2432232314}',
  '',
  'plain',
  '{"b":"żółw 🐢 👩‍👩‍👧","a":12345678901234567890}',
  '\u0000\uffff',
];

function signed(secrets: readonly string[], body: string, id = 'msg_1', timestamp = seconds()) {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': sign(secrets, { id, timestamp, body }),
  };
}

/** What is said to be wrong with a message. */
function problemOf(verify: () => unknown): string {
  try {
    verify();
  } catch (error) {
    if (error instanceof WebhookSignatureError) return error.problem;
    throw error;
  }
  return 'none';
}

test('the published vector of Standard Webhooks', () => {
  const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'];
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1614265330, body: '{"test": 2432232314}' };
  const signature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
  expect(sign(secrets, message)).toBe(signature);
  const headers = {
    'webhook-id': message.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': signature,
  };
  expect(verifySignature(secrets, headers, message.body, { now: 1614265330_000 })).toEqual({
    id: message.id,
    timestamp: new Date(1614265330_000),
  });
});

test('the independent package verifies what is signed here, and the other way round', () => {
  const secret = generateSecret();
  const independent = new Webhook(secret);
  for (const body of bodies) {
    independent.verify(body, signed([secret], body), { jsonParse: false });
    const headers = {
      'webhook-id': 'msg_2',
      'webhook-timestamp': String(seconds()),
      'webhook-signature': independent.sign('msg_2', new Date(), body),
    };
    expect(verifySignature([secret], headers, Buffer.from(body)).id).toBe('msg_2');
  }
});

test('while secrets rotate, the old one and the new one verify, and a third does not', () => {
  const [old, current, other] = [generateSecret(), generateSecret(), generateSecret()];
  const headers = signed([old, current], '{}');
  expect(headers['webhook-signature'].split(' ')).toHaveLength(2);
  for (const secret of [old, current]) {
    new Webhook(secret).verify('{}', headers);
    verifySignature([secret], headers, '{}');
  }
  expect(() => new Webhook(other).verify('{}', headers)).toThrow('No matching signature');
  expect(problemOf(() => verifySignature([other], headers, '{}'))).toBe('signature-wrong');
  // The receiver's side rotates, too.
  verifySignature([other, old], headers, '{}');
});

test('ed25519: signed with the private key, verified with either half', async () => {
  const { secret, publicKey } = await generateKeyPair();
  const headers = signed([secret], '{"żółw":1}');
  expect(headers['webhook-signature']).toMatch(/^v1a,/);
  verifySignature([publicKey], headers, '{"żółw":1}');
  verifySignature([secret], headers, '{"żółw":1}');
  // The seed without its public half is the same key.
  const seed = `whsk_${Buffer.from(secret.slice(5), 'base64').subarray(0, 32).toString('base64')}`;
  verifySignature([publicKey], signed([seed], 'x'), 'x');
  expect(problemOf(() => verifySignature([publicKey], headers, '{}'))).toBe('signature-wrong');
  const stranger = await generateKeyPair();
  expect(problemOf(() => verifySignature([stranger.publicKey], headers, '{"żółw":1}'))).toBe(
    'signature-wrong',
  );
  // A kind of its own: what is right for one is no signature of the other.
  const shared = generateSecret();
  const { 'webhook-signature': hmac, ...rest } = signed([shared], 'x');
  const relabelled = { ...rest, 'webhook-signature': hmac.replace('v1,', 'v1a,') };
  expect(problemOf(() => verifySignature([shared, publicKey], relabelled, 'x'))).toBe('signature-wrong');
  expect(() => sign([publicKey], { id: 'msg_1', timestamp: 1, body: '' })).toThrow('sign with its `whsk_`');
});

test('a changed body, id or time is noticed', () => {
  const secret = generateSecret();
  const headers = signed([secret], '{"total":1}');
  const problem = (changed: Record<string, string>, body = '{"total":1}'): string =>
    problemOf(() => verifySignature([secret], { ...headers, ...changed }, body));
  expect(problem({})).toBe('none');
  expect(problem({}, '{"total":2}')).toBe('signature-wrong');
  expect(problem({}, '{"total": 1}')).toBe('signature-wrong');
  expect(problem({ 'webhook-id': 'msg_2' })).toBe('signature-wrong');
  expect(problem({ 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 1) })).toBe(
    'signature-wrong',
  );
});

test('what is signed cannot be cut into other parts', () => {
  const secret = generateSecret();
  const later = seconds();
  const headers = signed([secret], `${later}.pay`, 'msg_1', later - 1);
  verifySignature([secret], headers, `${later}.pay`);
  const moved = {
    ...headers,
    'webhook-id': `msg_1.${later - 1}`,
    'webhook-timestamp': String(later),
  };
  expect(problemOf(() => verifySignature([secret], moved, 'pay'))).toBe('id-invalid');
});

test('old and future timestamps are refused, within a tolerance', () => {
  const secret = generateSecret();
  const now = 1_700_000_000_000;
  const problem = (timestamp: string, toleranceSeconds?: number): string => {
    const headers = {
      ...signed([secret], 'x', 'msg_1', /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : 0),
      'webhook-timestamp': timestamp,
    };
    return problemOf(() =>
      verifySignature([secret], headers, 'x', {
        now,
        ...(toleranceSeconds !== undefined && { toleranceSeconds }),
      }),
    );
  };
  expect(problem('1700000000')).toBe('none');
  expect(problem('1699999700')).toBe('none');
  expect(problem('1699999699')).toBe('timestamp-too-old');
  expect(problem('1700000300')).toBe('none');
  expect(problem('1700000301')).toBe('timestamp-too-new');
  expect(problem('1699999699', 600)).toBe('none');
  for (const text of ['', ' ', 'now', '-1', '1e9', '1700000000.5', '0x65', '9'.repeat(400)]) {
    expect(['timestamp-invalid', 'headers-missing']).toContain(problem(text));
  }
});

test('signatures of unknown versions and garbage are passed over', () => {
  const secret = generateSecret();
  const headers = signed([secret], 'x');
  const right = headers['webhook-signature'];
  const problem = (signature: string): string =>
    problemOf(() => verifySignature([secret], { ...headers, 'webhook-signature': signature }, 'x'));
  expect(problem(`v2,abc v1,${'a'.repeat(44)} v1a,zzzz ${right}`)).toBe('none');
  expect(problem(`  ${right}  `)).toBe('none');
  expect(problem(right.replace('v1,', 'v2,'))).toBe('signature-unknown');
  expect(problem(right.slice(3))).toBe('signature-unknown');
  expect(problem('v1,')).toBe('signature-wrong');
  expect(problem('v1')).toBe('signature-unknown');
  expect(problem(right.slice(0, -6))).toBe('signature-wrong');
  expect(problem('v1,🐢,,,')).toBe('signature-wrong');
  // A flood of wrong ones is cut off.
  expect(problem(`${'v1,AAAA '.repeat(5_000)}${right}`)).toBe('signature-wrong');
});

test('headers of any shape are read, and missing ones told', () => {
  const secret = generateSecret();
  const headers = signed([secret], 'x');
  verifySignature([secret], new Headers(headers), 'x');
  verifySignature([secret], { ...headers, 'webhook-signature': [headers['webhook-signature']] }, 'x');
  verifySignature(
    [secret],
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value])),
    'x',
  );
  for (const name of Object.keys(headers)) {
    expect(problemOf(() => verifySignature([secret], { ...headers, [name]: undefined }, 'x'))).toBe(
      'headers-missing',
    );
  }
});

test('a secret that cannot be read is refused without being shown', () => {
  const base64 = (bytes: number): string => Buffer.alloc(bytes, 'SECRETpart').toString('base64');
  const wrong = [
    '',
    base64(32),
    `whsec_${base64(23)}`,
    `whsec_${base64(65)}`,
    `whsec_${base64(32)}!`,
    `whsec_ ${base64(32)}`,
    `whsec_${base64(32).replaceAll('R', '-')}`,
    `whsk_${base64(33)}`,
    `whsk_${base64(64)}`,
    `whpk_${base64(31)}`,
    `WHSEC_${base64(32)}`,
  ];
  for (const secret of wrong) {
    const read = (): unknown => readSecret(secret);
    expect(read).toThrow(expect.objectContaining({ code: 'WEBHOOK_SECRET_INVALID' }));
    expect(read).not.toThrow(/SECRETpart|U0VDUkVU/);
  }
  for (const bytes of [24, 64]) expect(readSecret(`whsec_${base64(bytes)}`).version).toBe('v1');
  expect(readSecret(`whsec_${base64(25).replace(/=+$/, '')}`).version).toBe('v1');
  expect(inspect(readSecret(`whsec_${base64(32)}`), { depth: 9, showHidden: true })).not.toMatch(
    /SECRETpart|U0VDUkVU/,
  );
  expect(() => sign([], { id: 'msg_1', timestamp: 1, body: '' })).toThrow('no secret');
  expect(() => verifySignature([], {}, '')).toThrow('no secret');
  for (const id of ['', 'a.b', 'a b', 'a\nb', 'ż']) {
    expect(() => sign([generateSecret()], { id, timestamp: 1, body: '' })).toThrow('webhook id');
  }
});
