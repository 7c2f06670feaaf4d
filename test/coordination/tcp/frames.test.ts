import { expect, test } from 'vitest';
import { frame, FrameReader, longestMessage } from '../../../lib/coordination/tcp/frames.js';

/** What a reader makes of bytes that arrive in segments of a size. */
function read(
  bytes: Buffer,
  size: number,
): { readonly messages: readonly string[]; readonly reader: FrameReader } {
  const reader = new FrameReader();
  const messages: string[] = [];
  for (let at = 0; at < bytes.length; at += size)
    messages.push(...reader.read(bytes.subarray(at, at + size)));
  return { messages, reader };
}

/** Mulberry32: the same bytes in every run. */
function randomBytes(count: number, seed: number): Buffer {
  let state = seed;
  return Buffer.from(
    Array.from({ length: count }, () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return (t ^ (t >>> 14)) & 0xff;
    }),
  );
}

test('a message is sent with its mark, as UTF-8', () => {
  expect(frame('try_lock(7)').toString()).toBe('try_lock(7)###END###');
  expect(frame('ç')).toEqual(Buffer.from([0xc3, 0xa7, ...Buffer.from('###END###')]));
});

test('messages are the same however they are split over segments', () => {
  const sent = ['NOTIFY', '', 'TRUE', 'ação € 😀', '##', 'a###END##b', 'x'.repeat(100)];
  const bytes = Buffer.concat(sent.map(frame));
  for (let size = 1; size <= bytes.length; size += 1) expect(read(bytes, size).messages).toEqual(sent);
});

test('what follows a message in its segment begins the next one', () => {
  const reader = new FrameReader();
  expect(reader.isWithin).toBe(false);
  expect(reader.read(Buffer.from('sleep()###END###try_'))).toEqual(['sleep()']);
  expect(reader.isWithin).toBe(true);
  expect(reader.read(Buffer.from('lock(7)###END'))).toEqual([]);
  expect(reader.read(Buffer.from('###'))).toEqual(['try_lock(7)']);
  expect(reader.isWithin).toBe(false);
});

test.each([1, 1_000, 1_000_000])(
  'the longest message is read in segments of %i, a longer one is not',
  (size) => {
    const longest = 'x'.repeat(longestMessage);
    const fits = read(Buffer.concat([frame(longest), frame('next')]), size);
    expect([fits.messages.map(({ length }) => length), fits.reader.isTooLong]).toEqual([
      [longestMessage, 4],
      false,
    ]);
    const tooLong = read(Buffer.concat([frame('first'), frame(`${longest}x`), frame('next')]), size);
    expect([tooLong.messages, tooLong.reader.isTooLong]).toEqual([['first'], true]);
  },
);

test('a message without a mark is given up, and nothing of it is kept', () => {
  const reader = new FrameReader();
  const segment = Buffer.alloc(65_536, 'x');
  for (let count = 0; count < 1_600; count += 1) expect(reader.read(segment)).toEqual([]);
  expect([reader.isTooLong, reader.isWithin]).toEqual([true, false]);
});

test('bytes at random are read, or given up, without an error', () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const bytes = Buffer.concat([randomBytes(500, seed), frame(''), randomBytes(20, seed), frame('')]);
    const { messages } = read(bytes, (seed % 40) + 1);
    expect(messages).toEqual(read(bytes, bytes.length).messages);
    expect(messages).toHaveLength(2);
  }
});
