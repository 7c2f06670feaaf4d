import { afterEach, expect, test, vi } from 'vitest';
import { AccessToken } from '../../lib/tenants/access-token.js';
import { startStandIn, tokenAnswer, type StandIn } from './kit/stand-in.js';
import { secretMark } from './kit/tenants.js';

const restMs = 60_000;

afterEach(() => vi.restoreAllMocks());

/** A token source, and the kinds of grants that it asked for. */
async function start(
  answers: Readonly<Record<string, unknown>> = {},
): Promise<{ token: AccessToken; standIn: StandIn; kinds: () => readonly string[] }> {
  const standIn = await startStandIn();
  standIn.onGrant = () => tokenAnswer(answers);
  const token = new AccessToken({ ...standIn.service, timeoutMs: 5_000, ssl: undefined }, restMs);
  return { token, standIn, kinds: () => standIn.grants.map((form) => form['grant_type'] ?? '') };
}

test('a token is used until ten seconds before it expires', async () => {
  // Within the margin at once, for as long as a test could ever take, and for ever.
  for (const [expiresIn, requests] of [
    [9, 2],
    [10, 2],
    [300, 1],
    ['300', 1],
    [undefined, 1],
  ] as const) {
    const { token, kinds } = await start({ expires_in: expiresIn });
    const first = await token.get();
    expect((await token.get()) === first, `expires_in ${expiresIn}`).toBe(requests === 1);
    expect(kinds(), `expires_in ${expiresIn}`).toHaveLength(requests);
  }
});

test('a token lives its time: beyond the margin it is used, then it is not', async () => {
  const { token, kinds } = await start({ expires_in: 3_610 });
  const now = performance.now.bind(performance);
  let ahead = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  const first = await token.get();
  // It lives an hour besides the margin, and no test takes ten minutes.
  ahead = 3_000_000;
  expect(await token.get()).toBe(first);
  ahead = 3_600_000;
  expect(await token.get()).not.toBe(first);
  expect(kinds()).toEqual(['password', 'refresh_token']);
});

test('an expired token is refreshed, and logged in for again when the refresh token expired', async () => {
  const { token, standIn, kinds } = await start({ expires_in: 0, refresh_token: 'first-refresh' });
  await token.get();
  standIn.onGrant = () => tokenAnswer({ expires_in: 0, refresh_token: 'second', refresh_expires_in: 5 });
  await token.get();
  expect(standIn.grants[1]).toEqual({
    grant_type: 'refresh_token',
    refresh_token: 'first-refresh',
    client_id: 'tarefa',
  });
  await token.get();
  expect(kinds()).toEqual(['password', 'refresh_token', 'password']);
});

test.each([0, undefined, null])(
  'a refresh token with refresh_expires_in %s does not expire',
  async (lifetime) => {
    const { token, kinds } = await start({ expires_in: 0, refresh_expires_in: lifetime });
    for (let n = 0; n < 3; n += 1) await token.get();
    expect(kinds()).toEqual(['password', 'refresh_token', 'refresh_token']);
  },
);

test('a refresh token stays when the answer brings no other, and without one the password is used', async () => {
  const { token, standIn, kinds } = await start({ expires_in: 0, refresh_token: 'stays' });
  await token.get();
  standIn.onGrant = () => tokenAnswer({ expires_in: 0, refresh_token: undefined });
  await token.get();
  await token.get();
  expect(standIn.grants.map((form) => form['refresh_token'])).toEqual([undefined, 'stays', 'stays']);

  const without = await start({ expires_in: 0, refresh_token: undefined });
  await without.token.get();
  await without.token.get();
  expect(without.kinds()).toEqual(['password', 'password']);
  expect(kinds()).toHaveLength(3);
});

test.each([400, 401, 403])('a refresh that is refused with %i falls back to the password', async (status) => {
  const { token, standIn, kinds } = await start({ expires_in: 0 });
  await token.get();
  standIn.onGrant = ({ grant_type: kind }) => (kind === 'password' ? tokenAnswer() : { status });
  await token.get();
  expect(kinds()).toEqual(['password', 'refresh_token', 'password']);
});

test('a refresh that fails otherwise does not fall back, and is tried again', async () => {
  const { token, standIn, kinds } = await start({ expires_in: 0 });
  await token.get();
  standIn.onGrant = () => ({ status: 503 });
  await expect(token.get()).rejects.toThrow(/token service .* answered 503/);
  standIn.onGrant = () => tokenAnswer();
  await token.get();
  expect(kinds()).toEqual(['password', 'refresh_token', 'refresh_token']);
});

test('whoever waits at the same time shares one request, also when it fails', async () => {
  const { token, standIn, kinds } = await start();
  standIn.onGrant = () => ({ status: 500 });
  const failed = await Promise.allSettled(Array.from({ length: 50 }, () => token.get()));
  expect(failed.every(({ status }) => status === 'rejected')).toBe(true);
  expect(kinds()).toHaveLength(1);
  standIn.onGrant = () => tokenAnswer({ expires_in: 0 });
  const tokens = await Promise.all(Array.from({ length: 50 }, () => token.get()));
  expect(new Set(tokens).size).toBe(1);
  expect(kinds()).toHaveLength(2);
});

test('a token that was refused is replaced once, however many were refused with it', async () => {
  const { token, kinds } = await start();
  const refused = await token.get();
  const next = await Promise.all(Array.from({ length: 10 }, () => token.replace(refused)));
  expect(new Set(next).size).toBe(1);
  expect(next[0]).not.toBe(refused);
  // One of them comes late: the new one is good.
  expect(await token.replace(refused)).toBe(next[0]);
  expect(kinds()).toEqual(['password', 'refresh_token']);
});

test('a refused password is not sent again and again: accounts get locked', async () => {
  const { token, standIn, kinds } = await start();
  standIn.onGrant = () => ({ status: 401 });
  for (let n = 0; n < 5; n += 1) {
    await expect(token.get()).rejects.toThrow(/answered 401: check user, password and clientId/);
  }
  expect(kinds()).toHaveLength(1);
});

test.each([
  ['access_token', { access_token: undefined }],
  ['access_token', { access_token: 7 }],
  ['access_token', { access_token: `${secretMark}\r\nx: y` }],
  ['expires_in', { expires_in: secretMark }],
  ['expires_in', { expires_in: -1 }],
  ['refresh_expires_in', { refresh_expires_in: {} }],
])('an answer with an unusable %s is told without its content', async (field, answer) => {
  const { token } = await start(answer);
  const error: unknown = await token.get().catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'TENANT_UNAVAILABLE', message: expect.stringContaining(field) });
  expect(String(error)).not.toContain(secretMark);
});
