import { serverNow } from '../clock.js';
import { h } from '../dom.js';
import { formatCount, formatDuration, formatNumber } from '../format.js';
import { t } from '../language.js';
import { hashOf } from '../router.js';
import { endedPerMinute } from './recorded.js';

/** @typedef {import('../../api.ts').OverviewJson} OverviewJson */
/** @typedef {import('../../api.ts').HistoryJson} HistoryJson */

/** Minutes that waiting times are taken from, besides the one that is not over. */
const recentPoints = 5;

/**
 * The numbers to look at first.
 *
 * @param {OverviewJson} overview
 * @param {HistoryJson | null} lastHour
 */
export function tiles(overview, lastHour) {
  const points = lastHour?.points ?? [];
  const recent = points.slice(-1 - recentPoints);
  const perMinute = endedPerMinute(points, serverNow());
  const failed = points.reduce((sum, point) => sum + point.failed, 0);
  const waits = recent.flatMap(({ waitP95 }) => (waitP95 === null ? [] : [waitP95]));
  const { buried } = overview;
  const since = new Date(serverNow() - 3_600_000);
  since.setSeconds(0, 0);
  return h(
    'section',
    { class: 'tiles', 'aria-label': t('tiles.label') },
    tile('pending', total(overview, 'pending'), hashOf('tasks', { params: { status: 'pending' } })),
    tile(
      'processing',
      formatCount(overview.runningTotal.count, overview.runningTotal.isCapped),
      hashOf('tasks', { params: { status: 'processing' } }),
    ),
    tile('scheduled', total(overview, 'scheduled'), hashOf('tasks', { params: { status: 'scheduled' } })),
    tile('retrying', total(overview, 'retrying'), hashOf('tasks', { params: { status: 'retrying' } })),
    tile(
      'buried',
      buried ? formatCount(buried.untreated, buried.isCapped) : '–',
      hashOf('tasks', { params: { buried: buried?.untreated === 0 ? 'true' : 'untreated' } }),
      buried && buried.untreated > 0 ? 'bad' : '',
      buried && buried.treated > 0
        ? t('tile.buried.treated', {
            n: buried.treated,
            count: formatCount(buried.treated, buried.isCapped),
          })
        : t('tile.buried.note'),
    ),
    tile(
      'failed',
      lastHour ? formatCount(failed) : '–',
      hashOf('tasks', { params: { status: 'failed', latest: 'false', since: since.toISOString() } }),
    ),
    tile(
      'throughput',
      points.length > 0 ? formatNumber(perMinute, { maximumFractionDigits: perMinute < 10 ? 1 : 0 }) : '–',
    ),
    tile('lag', overview.lagMs > 0 ? formatDuration(overview.lagMs) : '–'),
    tile('wait', waits.length > 0 ? formatDuration(Math.max(...waits)) : '–'),
  );
}

/**
 * @param {OverviewJson} overview
 * @param {'pending' | 'scheduled' | 'retrying'} status
 */
function total({ counts }, status) {
  const those = counts.filter((each) => each.status === status);
  return formatCount(
    those.reduce((sum, { count }) => sum + count, 0),
    those.some(({ isCapped }) => isCapped),
  );
}

/**
 * @param {'pending' | 'processing' | 'scheduled' | 'retrying' | 'buried' | 'failed' | 'throughput' | 'lag' | 'wait'} name
 * @param {string} value
 * @param {string | null} [href]
 * @param {string} [mood]
 * @param {string} [note]
 */
function tile(name, value, href = null, mood = '', note = t(`tile.${name}.note`)) {
  const inside = [
    h('span', { class: 'tile-label' }, t(`tile.${name}`)),
    h('span', { class: 'tile-value' }, value),
    h('span', { class: 'tile-note' }, note),
  ];
  const attributes = { class: `tile tile-${name} ${mood}`.trim(), 'data-tile': name, 'data-key': name };
  return href === null ? h('div', attributes, inside) : h('a', { ...attributes, href }, inside);
}
