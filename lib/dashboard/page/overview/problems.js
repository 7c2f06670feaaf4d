import { timeOf } from '../clock.js';
import { h } from '../dom.js';
import { formatCount, formatDuration } from '../format.js';
import { icon } from '../icons.js';
import { phrase, t } from '../language.js';
import { pauseButton } from '../pause.js';
import { hashOf } from '../router.js';
import { routeName, tasksHash } from '../routes.js';
import { shown } from '../text.js';

/** @typedef {import('../../api.ts').ProblemJson} Problem */
/** @typedef {import('../dom.js').Child} Child */

/** Problems that are shown before the rest is folded away. */
const firstProblems = 6;

/**
 * What is wrong and what to do about it, most urgent first.
 *
 * @param {import('../../api.ts').OverviewJson} overview
 * @param {boolean} canPause
 * @param {() => unknown} refresh
 */
export function problemsSection({ problems }, canPause, refresh) {
  const rest = problems.slice(firstProblems);
  return h(
    'section',
    { class: `problems${problems.length === 0 ? ' none' : ''}`, 'aria-labelledby': 'problems-title' },
    h('h2', { id: 'problems-title', class: problems.length === 0 ? 'unseen' : null }, t('problems.title')),
    h(
      'ul',
      // Only new ones are said, not each of their numbers.
      { 'aria-live': 'polite', 'aria-relevant': 'additions' },
      problems.length === 0 &&
        h('li', { class: 'fine', 'data-key': 'fine' }, icon('succeeded'), t('problems.none')),
      problems.slice(0, firstProblems).map(item),
    ),
    rest.length > 0 &&
      h(
        'details',
        null,
        h('summary', null, t('problems.more', { n: rest.length, count: formatCount(rest.length) })),
        h('ul', null, rest.map(item)),
      ),
  );

  /** @param {Problem} problem */
  function item(problem) {
    return h(
      'li',
      { 'data-key': identityOf(problem), 'data-problem': problem.kind },
      icon('warning'),
      h('p', null, sentence(problem), ' ', h('span', { class: 'advice' }, advice(problem))),
      problem.kind === 'paused' && canPause && pauseButton(problem, true, refresh),
    );
  }
}

/** @param {Problem} problem */
function identityOf(problem) {
  const { kind } = problem;
  if ('topic' in problem) return JSON.stringify([kind, problem.topic, problem.subscriptionId]);
  if ('subscriptionId' in problem) return JSON.stringify([kind, problem.subscriptionId]);
  if ('workerId' in problem) return JSON.stringify([kind, problem.workerId]);
  if ('inconsistency' in problem) return JSON.stringify([kind, problem.inconsistency]);
  return JSON.stringify([kind, 'section' in problem ? problem.section : '']);
}

/**
 * @param {Problem} problem
 * @returns {Child}
 */
function sentence(problem) {
  switch (problem.kind) {
    case 'no-worker': {
      const { count, isCapped, waitingMs } = problem;
      return phrase('problem.no-worker', {
        n: count,
        count: formatCount(count, isCapped),
        route: routeName(problem),
        duration: formatDuration(waitingMs),
      });
    }
    case 'paused': {
      const { count, since } = problem;
      return phrase('problem.paused', {
        n: count,
        count: formatCount(count),
        route: routeName(problem),
        time: timeOf(since),
      });
    }
    case 'unknown-handler': {
      const { failures } = problem;
      return phrase('problem.unknown-handler', {
        n: failures,
        count: formatCount(failures),
        route: routeName(problem),
      });
    }
    case 'unheard':
      return phrase('problem.unheard', {
        subscription: shown(problem.subscriptionId ?? ''),
        topic: shown(problem.topic ?? ''),
      });
    case 'discarded': {
      const { count } = problem;
      return phrase('problem.discarded', { n: count, count: formatCount(count), route: routeName(problem) });
    }
    case 'failing':
      return phrase('problem.failing', {
        failed: formatCount(problem.failed),
        ended: formatCount(problem.ended),
        route: routeName(problem),
      });
    case 'lag-growing':
      return t('problem.lag-growing', {
        lag: formatDuration(problem.lagMs),
        before: formatDuration(problem.beforeMs),
        over: formatDuration(problem.overMs),
      });
    case 'old-snapshot':
      return phrase('problem.old-snapshot', {
        holder: shown(problem.holder),
        duration:
          problem.sinceMs === null ? t('problem.old-snapshot.unknown') : formatDuration(problem.sinceMs),
        transactions: formatCount(problem.transactions),
      });
    case 'notify-full':
      return t('problem.notify-full', { percent: formatCount(Math.round(problem.usage * 100)) });
    case 'open-circuit': {
      const { failures, subscriptionId, until } = problem;
      return phrase('problem.open-circuit', {
        n: failures,
        count: formatCount(failures),
        subscription: shown(subscriptionId),
        time: timeOf(until),
      });
    }
    case 'deactivated':
      return phrase('problem.deactivated', {
        subscription: shown(problem.subscriptionId),
        reason: shown(problem.reason, 300),
      });
    case 'lost-worker':
      return phrase('problem.lost-worker', { host: shown(problem.host), pid: problem.pid });
    case 'stalled-worker':
      return phrase('problem.stalled-worker', {
        worker: problem.workerId,
        duration: formatDuration(problem.forMs),
        reason: shown(problem.reason, 500),
      });
    case 'inconsistent': {
      const { inconsistency, count, ids } = problem;
      return phrase(`problem.inconsistent.${inconsistency}`, {
        n: count,
        count: formatCount(count),
        ids: idLinks(ids, count),
      });
    }
    case 'untreated': {
      const { count, isCapped } = problem;
      return t('problem.untreated', { n: count, count: formatCount(count, isCapped) });
    }
    case 'late-scheduled':
      return t('problem.late-scheduled', { duration: formatDuration(problem.lateMs) });
    case 'unread':
      return phrase('problem.unread', {
        section: shown(problem.section),
        reason: shown(problem.reason, 300),
      });
    default:
      return null;
  }
}

/**
 * @param {readonly string[]} ids of attempts, the first of so many
 * @param {number} count
 * @returns {Child}
 */
function idLinks(ids, count) {
  return [
    ids.map((id, place) => [place > 0 && ', ', h('a', { href: hashOf('task', { id }) }, id)]),
    count > ids.length && ', …',
  ];
}

/**
 * @param {Problem} problem
 * @returns {Child}
 */
function advice(problem) {
  const { kind } = problem;
  const href = hrefOf(problem);
  return [
    t(`advice.${kind}`),
    ' ',
    href &&
      h(
        'a',
        { href },
        t(
          ['open-circuit', 'deactivated', 'unheard'].includes(problem.kind)
            ? 'problems.subscription'
            : 'problems.tasks',
        ),
      ),
  ];
}

/**
 * @param {Problem} problem
 * @returns {string | null}
 */
function hrefOf(problem) {
  switch (problem.kind) {
    case 'no-worker':
    case 'paused':
      return tasksHash(problem, { status: 'pending' });
    case 'unknown-handler':
    case 'failing':
      return tasksHash(problem, { status: 'failed', latest: 'false' });
    case 'discarded':
      return tasksHash(problem, { status: 'succeeded' });
    case 'unheard':
      return hashOf('subscription', { id: problem.subscriptionId ?? '' });
    case 'open-circuit':
    case 'deactivated':
      return hashOf('subscription', { id: problem.subscriptionId });
    case 'untreated':
      return hashOf('tasks', { params: { buried: 'untreated' } });
    case 'lag-growing':
      return hashOf('tasks', { params: { status: 'pending' } });
    case 'late-scheduled':
      return hashOf('tasks', { params: { status: 'scheduled' } });
    default:
      return null;
  }
}
