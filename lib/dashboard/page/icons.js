import { svg } from './dom.js';

/** Drawn on 16 by 16, with the colour of the text around. */
const paths = {
  scheduled: 'M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2M8 5v3.2l2.2 1.4',
  pending: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3',
  processing: 'M5 3.5v9l7.5-4.5z',
  retrying: 'M12.6 9.6A5 5 0 1 1 12 5M12.4 1.8V5.2H9',
  succeeded: 'm3 8.5 3.4 3.4L13 5',
  failed: 'm4 4 8 8M12 4l-8 8',
  cancelled: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M4.1 4.1l7.8 7.8',
  warning: 'M8 2.5 14.2 13.4H1.8zM8 6.6v3.2M8 11.6v.1',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  live: 'M8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6M4.2 4.2a5.4 5.4 0 0 0 0 7.6M11.8 4.2a5.4 5.4 0 0 1 0 7.6',
};

/** @typedef {keyof typeof paths} IconName */

/**
 * An icon beside words that say the same.
 *
 * @param {IconName} name
 */
export function icon(name) {
  return svg(
    'svg',
    { viewBox: '0 0 16 16', class: `icon icon-${name}`, 'aria-hidden': 'true', focusable: 'false' },
    svg('path', { d: paths[name] }),
  );
}
