import { h } from './dom.js';
import { fill } from './fill.js';
import { phrase, t } from './language.js';
import { hashOf } from './router.js';
import { nothing } from './states.js';
import { shown } from './text.js';

/**
 * There is nothing at this address.
 *
 * @type {import('./main.js').View}
 */
export function showMissing({ main }, { id }) {
  fill(
    main,
    h('h1', { tabindex: '-1' }, t('missing.title')),
    nothing(
      t('missing.text'),
      phrase('missing.hint', {
        address: shown(id, 200),
        overview: h('a', { href: hashOf('overview') }, t('nav.overview')),
      }),
    ),
  );
}
