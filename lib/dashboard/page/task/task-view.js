import { read } from '../api-client.js';
import { h } from '../dom.js';
import { fill } from '../fill.js';
import { jsonTree } from '../json-tree.js';
import { t } from '../language.js';
import { repeat } from '../repeat.js';
import { hashOf } from '../router.js';
import { attempt, failure, loading } from '../states.js';
import { isUnderWay } from '../status.js';
import { actionButtons } from './actions.js';
import { taskHeader } from './facts.js';
import { payloadSection } from './payload.js';
import { relatedSections } from './related.js';
import { timeline } from './timeline.js';

/** @typedef {import('../../api.ts').TaskDetailsJson} TaskDetails */

const refreshEveryMs = 3000;

/**
 * One task: all its attempts, what it was given, and what it belongs to.
 *
 * @type {import('../main.js').View}
 */
export function showTask({ main, info, signal }, { id }) {
  /** @type {TaskDetails | null} */
  let details = null;
  const slots = {
    problem: h('div'),
    header: h('div', { class: 'task-header' }),
    timeline: h('div'),
    metadata: h('div'),
    related: h('div', { class: 'stack' }),
  };
  const title = h('h1', { tabindex: '-1' }, t('task.title', { id: id.slice(0, 40) }));
  const payload = info.payloads ? payloadSection(id, signal) : null;
  fill(
    main,
    h('p', { class: 'back' }, h('a', { href: hashOf('tasks') }, `← ${t('nav.tasks')}`)),
    title,
    slots.problem,
    slots.header,
    slots.timeline,
    payload,
    slots.metadata,
    slots.related,
  );
  if (payload) payload.hidden = true;
  fill(slots.header, loading());
  void load();
  repeat(
    async () => {
      // One that has ended can still change by hand: looked at when asked for, or when an action was done here.
      if (details && isUnderWay(details.current) && document.querySelector('dialog[open]') === null)
        await load();
    },
    refreshEveryMs,
    signal,
  );

  async function load() {
    await attempt(
      async () => {
        details = await read(`tasks/${encodeURIComponent(id)}`, null, signal);
        fill(slots.problem);
        render();
      },
      (error) => {
        if (!details) fill(slots.header);
        fill(
          slots.problem,
          failure(error, () => void load()),
        );
      },
    );
  }

  function render() {
    if (!details) return;
    // The address may name any of its attempts.
    title.textContent = t('task.title', { id: details.current.firstAttemptId });
    document.title = `${title.textContent} · Tarefa`;
    fill(
      slots.header,
      taskHeader(details),
      actionButtons(details, () => void load()),
    );
    fill(slots.timeline, timeline(details));
    if (payload) payload.hidden = false;
    fill(slots.metadata, metadataSection(details));
    fill(slots.related, relatedSections(details));
  }
}

/** @param {TaskDetails} details */
function metadataSection({ metadata }) {
  if (metadata === null || metadata === undefined) return null;
  return h(
    'section',
    { 'data-own': `metadata:${JSON.stringify(metadata).slice(0, 500)}`, 'aria-labelledby': 'metadata-title' },
    h('h2', { id: 'metadata-title' }, t('task.metadata')),
    h('div', { class: 'scroll boxed' }, jsonTree(metadata, t('task.metadata'))),
  );
}
