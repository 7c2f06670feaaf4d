import { describe, expect, it } from 'vitest';
import { median, percentile, round } from '../../bench/statistics.js';

describe('statistics of the benchmark', () => {
  it('finds the middle, whatever the order', () => {
    expect(median([30, 10, 20])).toBe(20);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  it('finds the value that a share of all does not exceed', () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(percentile(values, 0.5)).toBe(50);
    expect(percentile(values, 0.99)).toBe(99);
    expect(percentile([7], 0.99)).toBe(7);
  });

  it('keeps four digits', () => {
    expect([round(12_345.6), round(1.23456), round(0.0123456), round(0)]).toEqual([
      12_346, 1.235, 0.01235, 0,
    ]);
  });
});
