import { h } from '../dom.js';
import { formatCount } from '../format.js';
import { t } from '../language.js';

/** @typedef {import('../../api.ts').TaskJson} TaskJson */

/** The tasks of a list that were ticked, to do something with all of them. */
export class Selection {
  /** @type {Map<string, TaskJson>} */
  #tasks = new Map();
  #onChange;

  /** @param {() => void} onChange somebody ticked, or unticked */
  constructor(onChange) {
    this.#onChange = onChange;
  }

  get size() {
    return this.#tasks.size;
  }

  get tasks() {
    return [...this.#tasks.values()];
  }

  clear() {
    this.#tasks.clear();
    this.#onChange();
  }

  /**
   * The box of a row. Whether it is ticked is told by {@link show}.
   *
   * @param {TaskJson} task
   */
  box(task) {
    const { id, firstAttemptId } = task;
    return h(
      'label',
      { class: 'select-box' },
      h('input', {
        type: 'checkbox',
        'data-select': id,
        'aria-label': t('selection.one', { id: firstAttemptId }),
        onchange: ({ currentTarget }) => {
          if (currentTarget instanceof HTMLInputElement && currentTarget.checked) this.#tasks.set(id, task);
          else this.#tasks.delete(id);
          this.#onChange();
        },
      }),
    );
  }

  /**
   * The box that stands for all that are shown.
   *
   * @param {readonly TaskJson[]} tasks
   */
  boxOfAll(tasks) {
    const id = 'select-all';
    return h(
      'span',
      { class: 'check' },
      h('input', {
        type: 'checkbox',
        id,
        'data-select-all': tasks.length,
        onchange: ({ currentTarget }) => {
          const isOn = currentTarget instanceof HTMLInputElement && currentTarget.checked;
          this.#tasks = new Map(isOn ? tasks.map((task) => [task.id, task]) : []);
          this.#onChange();
        },
      }),
      h('label', { for: id }, t('selection.all', { count: formatCount(tasks.length) })),
    );
  }

  /**
   * Ticks the boxes that are there as it has them: what a person ticked is no attribute, so {@link fill} leaves it as it was.
   *
   * @param {ParentNode} root
   */
  show(root) {
    for (const box of inputs(root, 'input[data-select]'))
      box.checked = this.#tasks.has(box.dataset['select'] ?? '');
    for (const box of inputs(root, 'input[data-select-all]')) {
      box.checked = this.size > 0 && this.size >= Number(box.dataset['selectAll']);
      box.indeterminate = this.size > 0 && !box.checked;
    }
  }
}

/**
 * @param {ParentNode} root
 * @param {string} selector
 * @returns {NodeListOf<HTMLInputElement>}
 */
function inputs(root, selector) {
  return root.querySelectorAll(selector);
}
