import { svg } from '../dom.js';

const width = 96;
const height = 22;

/**
 * A small picture of how numbers went, beside the numbers themselves.
 *
 * @param {readonly number[]} values
 */
export function sparkline(values) {
  const largest = Math.max(...values, 1);
  const step = width / Math.max(values.length - 1, 1);
  const line = values
    .map(
      (value, index) =>
        `${(index * step).toFixed(1)} ${(height - 2 - (value / largest) * (height - 4)).toFixed(1)}`,
    )
    .join('L');
  return svg(
    'svg',
    { class: 'sparkline', viewBox: `0 0 ${String(width)} ${String(height)}`, 'aria-hidden': 'true' },
    values.length > 1 && [
      svg('path', { class: 'area', d: `M0 ${String(height)}L${line}L${String(width)} ${String(height)}z` }),
      svg('path', { class: 'line', d: `M${line}` }),
    ],
  );
}
