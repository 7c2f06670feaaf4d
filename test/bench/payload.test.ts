import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { makePayload } from '../../bench/protocol.js';

describe('payloads of the benchmark', () => {
  it.each([0, 7, 99_999, 1_000_000])('have the asked length as JSON: number %i', (i) => {
    expect(Buffer.byteLength(JSON.stringify(makePayload(i, 65_536)))).toBe(65_536);
    expect(makePayload(i, 65_536).i).toBe(i);
  });

  it('are about 60 bytes otherwise', () => {
    expect(JSON.stringify(makePayload(1_000)).length).toBeLessThan(70);
  });

  it('cannot be compressed to a little by the server when they are long', () => {
    expect(gzipSync(makePayload(1, 65_536).s).length).toBeGreaterThan(45_000);
  });
});
