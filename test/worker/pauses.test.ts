import { expect, test, vi } from 'vitest';
import { deferred } from '../support/waiting.js';
import type { PausedRoute } from '../../lib/storage/endpoints.js';
import { Pauses } from '../../lib/worker/claiming/pauses.js';

test('a hold that ends is looked at again then, also when the timer comes early', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
  const read = vi.fn<() => Promise<readonly PausedRoute[]>>().mockResolvedValue([
    { route: 's:crm', forMs: 500.5 },
    { route: 't:paused', forMs: undefined },
  ]);
  const later = vi.fn<(ms: number) => void>();
  const pauses = new Pauses(read, { lookIn: later });
  expect(await pauses.refresh()).toBe(false);
  expect(later.mock.lastCall).toEqual([500.5]);
  now.mockReturnValue(1_499);
  await pauses.refresh();
  expect(read).toHaveBeenCalledTimes(1);
  expect(later.mock.lastCall).toEqual([1.5]);
  expect([...pauses.with(new Set(['t:other']))]).toEqual(['s:crm', 't:paused', 't:other']);
  now.mockReturnValue(1_501);
  read.mockResolvedValue([{ route: 't:paused', forMs: undefined }]);
  // Claims have passed by what waited there.
  expect(await pauses.refresh()).toBe(true);
  expect(read).toHaveBeenCalledTimes(2);
  expect(pauses.has('!s:crm')).toBe(false);
  expect(pauses.has('!t:paused')).toBe(true);
  expect(await pauses.refresh()).toBe(false);
  expect(read).toHaveBeenCalledTimes(2);
});

test('what is resumed while pauses are read is read again', async () => {
  const first = deferred<readonly PausedRoute[]>();
  const read = vi
    .fn<() => Promise<readonly PausedRoute[]>>()
    .mockReturnValueOnce(first.promise)
    .mockResolvedValue([]);
  const pauses = new Pauses(read, { lookIn: () => undefined });
  const refreshed = pauses.refresh();
  pauses.invalidate();
  first.resolve([{ route: 't:resumed', forMs: undefined }]);
  expect(await refreshed).toBe(false);
  expect(await pauses.refresh()).toBe(true);
  expect(pauses.staleAt).toBe(Infinity);
});
