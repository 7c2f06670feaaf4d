import { isAbort, read } from '../api-client.js';
import { queryOf } from './filters.js';

/** @typedef {import('../../api.ts').TaskJson} TaskJson */
/** @typedef {import('../../api.ts').TasksJson} TasksJson */
/** @typedef {'searching' | 'more' | 'stopped' | 'done' | 'failed'} SearchState */

/** Tasks that one look is after. */
const pageSize = 50;

/** A list of tasks that goes on: the server looks at so many rows at a time, so one page may take several requests. */
export class TaskSearch {
  /** @type {TaskJson[]} */
  tasks = [];
  /** @type {SearchState} */
  state = 'searching';
  /** @type {unknown} */
  error = null;
  /** 0 to 1: which part of the table's history was looked at. */
  searched = 0;
  requests = 0;
  pages = 0;
  /** @type {string | null} */
  #next = null;
  #query;
  #onChange;
  #stopping = new AbortController();

  /**
   * @param {URLSearchParams} filters
   * @param {() => void} onChange
   */
  constructor(filters, onChange) {
    this.#query = queryOf(filters);
    this.#onChange = onChange;
  }

  /** Finds the next so many, or goes on where it was stopped. */
  async more() {
    this.#stopping.abort();
    this.#stopping = new AbortController();
    const { signal } = this.#stopping;
    const wanted = this.pages * pageSize + pageSize;
    this.#change('searching');
    try {
      while (this.tasks.length < wanted) {
        const query = new URLSearchParams(this.#query);
        query.set('limit', String(Math.min(wanted - this.tasks.length, pageSize)));
        if (this.#next !== null) query.set('after', this.#next);
        /** @type {TasksJson} */
        const page = await read('tasks', query, signal);
        if (signal.aborted) return;
        this.#take(page);
        if (page.next === null) {
          this.#change('done');
          return;
        }
        this.#change('searching');
      }
      this.pages += 1;
      this.#change('more');
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      this.error = error;
      this.#change('failed');
    }
  }

  /**
   * Somebody else is told from now on.
   *
   * @param {() => void} onChange
   */
  follow(onChange) {
    this.#onChange = onChange;
  }

  /** What was found so far stays. */
  stop() {
    this.#stopping.abort();
    if (this.state === 'searching') this.#change('stopped');
  }

  /** Nobody looks any more. */
  drop() {
    this.follow(() => {});
    this.#stopping.abort();
  }

  /** @param {TasksJson} page */
  #take({ tasks, next, searched }) {
    const known = new Set(this.tasks.map(({ id }) => id));
    this.tasks.push(...tasks.filter(({ id }) => !known.has(id)));
    this.#next = next;
    this.searched = searched;
    this.requests += 1;
  }

  /** @param {SearchState} state */
  #change(state) {
    this.state = state;
    this.#onChange();
  }
}
