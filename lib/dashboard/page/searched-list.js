import { read } from './api-client.js';
import { h } from './dom.js';
import { fill } from './fill.js';
import { t } from './language.js';
import { repeat } from './repeat.js';
import { attempt, failure, loading, nothing } from './states.js';

const refreshEveryMs = 10_000;

/**
 * A view of all that an address answers, read again and again, with a search in it.
 *
 * @template One
 * @param {Pick<import('./main.js').ViewContext, 'main' | 'signal'>} context
 * @param {object} parts
 * @param {'schedules' | 'subscriptions'} parts.name of the address, of the list in its answer, and what its messages begin with
 * @param {string} parts.searchId
 * @param {import('./dom.js').Child} [parts.button] beside the heading
 * @param {(one: One) => readonly (string | null)[]} parts.words what is searched in
 * @param {(found: readonly One[], load: () => unknown) => import('./dom.js').Child} parts.show
 */
export function showSearchedList({ main, signal }, { name, searchId, button, words, show }) {
  /** @type {readonly One[] | null} */
  let all = null;
  const search = h('input', { id: searchId, type: 'search', oninput: () => render(), autocomplete: 'off' });
  const problem = h('div');
  const list = h('div', { class: 'results' });
  fill(
    main,
    h(
      'div',
      { class: 'heading' },
      h('h1', { tabindex: '-1' }, t(`nav.${name}`)),
      button,
      h('div', { class: 'go-to' }, h('label', { for: search.id }, t(`${name}.search`)), search),
    ),
    problem,
    list,
  );
  fill(list, loading());
  void load();
  repeat(load, refreshEveryMs, signal);

  async function load() {
    await attempt(
      async () => {
        /** @type {Readonly<Record<string, readonly One[]>>} */
        const answer = await read(name, null, signal);
        all = answer[name] ?? [];
        fill(problem);
        render();
      },
      (error) => {
        if (!all) fill(list);
        fill(
          problem,
          failure(error, () => void load()),
        );
      },
    );
  }

  function render() {
    if (!all) return;
    const sought = search.value.trim().toLowerCase();
    const found = all.filter((one) => words(one).some((text) => text?.toLowerCase().includes(sought)));
    if (all.length === 0) fill(list, nothing(t(`${name}.none`), t(`${name}.none.hint`)));
    else if (found.length === 0) fill(list, nothing(t(`${name}.noMatch`), t(`${name}.noMatch.hint`)));
    else fill(list, show(found, load));
  }
}
