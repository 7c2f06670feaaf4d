import { apply } from './apply.js';
import { encode } from './encode.js';
import { isOver, violation } from './invariants.js';
import { rules } from './rules.js';
import { initialState, type State } from './state.js';
import { countsAsFault, type Setting, type Step } from './step.js';
import { stepsOf } from './steps.js';

/** What an exploration has found. */
export interface Exploration {
  readonly states: number;
  readonly transitions: number;
  /** What has happened somewhere. */
  readonly kinds: ReadonlySet<Step['kind']>;
  /** The first thing that is wrong, with the shortest way to it; undefined when nothing is. */
  readonly wrong: { readonly what: string; readonly trace: readonly Step[] } | undefined;
}

/** A setting with more is a mistake, or too much for a test. */
const mostStates = 2_000_000;

/** Numbers in a row that grows. */
class Numbers {
  #values = new Int32Array(1 << 16);
  length = 0;

  push(value: number): void {
    if (this.length === this.#values.length) {
      const values = new Int32Array(this.length * 2);
      values.set(this.#values);
      this.#values = values;
    }
    this.#values[this.length] = value;
    this.length += 1;
  }

  at(index: number): number {
    return this.#values[index] ?? -1;
  }
}

/**
 * Visits every state that can be reached, breadth first, and stops at the first one that breaks an invariant. When
 * none does: from each of them the end of all tasks must be within reach, without another fault.
 */
export function explore(setting: Setting): Exploration {
  const start = initialState(setting.tasks.length, setting.workers, setting.faults);
  const isFenced = setting.rules === rules;
  const found = new Map<string, number>([[encode(start, isFenced), 0]]);
  const states: (State | undefined)[] = [start];
  // How each state was first reached: from which other, and by which of that one's steps.
  const parents = new Numbers();
  const choices = new Numbers();
  parents.push(-1);
  choices.push(-1);
  const steps = { from: new Numbers(), to: new Numbers() };
  const ends: number[] = [];
  const kinds = new Set<Step['kind']>();
  let transitions = 0;

  for (let at = 0; at < states.length; at += 1) {
    const state = states[at] as State;
    // Only the frontier is needed.
    states[at] = undefined;
    if (isOver(state)) ends.push(at);
    let choice = -1;
    for (const step of stepsOf(state, setting)) {
      choice += 1;
      transitions += 1;
      kinds.add(step.kind);
      const after = apply(state, step, setting);
      const key = encode(after, isFenced);
      let to = found.get(key);
      if (to === undefined) {
        to = states.length;
        if (to > mostStates) throw new Error('the model has no end: a fault or a claim is not counted');
        found.set(key, to);
        states.push(after);
        parents.push(at);
        choices.push(choice);
      }
      const wrong = violation(state, after, setting);
      if (wrong !== undefined) {
        const trace = [...traceTo(setting, start, parents, choices, at), step];
        return { states: states.length, transitions, kinds, wrong: { what: wrong, trace } };
      }
      if (countsAsFault(state, step)) continue;
      steps.from.push(at);
      steps.to.push(to);
    }
  }
  const stuck = findStuck(states.length, steps, ends);
  return {
    states: states.length,
    transitions,
    kinds,
    wrong:
      stuck === undefined
        ? undefined
        : { what: 'stuck: the tasks cannot end', trace: traceTo(setting, start, parents, choices, stuck) },
  };
}

/** The first state from which no end can be reached. */
function findStuck(
  count: number,
  { from, to }: { readonly from: Numbers; readonly to: Numbers },
  ends: readonly number[],
): number | undefined {
  // Where the steps into a state begin in `order`, which lists them by the state they lead to.
  const begins = new Int32Array(count + 1);
  for (let step = 0; step < to.length; step += 1) begins[to.at(step) + 1]! += 1;
  for (let state = 0; state < count; state += 1) begins[state + 1]! += begins[state]!;
  const next = begins.slice();
  const order = new Int32Array(to.length);
  for (let step = 0; step < to.length; step += 1) {
    const place = next[to.at(step)]!;
    next[to.at(step)] = place + 1;
    order[place] = from.at(step);
  }
  const live = new Uint8Array(count);
  const queue = [...ends];
  for (const end of ends) live[end] = 1;
  for (let state = queue.pop(); state !== undefined; state = queue.pop()) {
    for (let step = begins[state]!; step < begins[state + 1]!; step += 1) {
      const before = order[step]!;
      if (live[before] === 1) continue;
      live[before] = 1;
      queue.push(before);
    }
  }
  const stuck = live.indexOf(0);
  return stuck < 0 ? undefined : stuck;
}

/** The steps to a state, walked again from the start. */
function traceTo(
  setting: Setting,
  start: State,
  parents: Numbers,
  choices: Numbers,
  target: number,
): readonly Step[] {
  const chosen: number[] = [];
  for (let at = target; at > 0; at = parents.at(at)) chosen.unshift(choices.at(at));
  let state = start;
  return chosen.map((choice) => {
    const step = [...stepsOf(state, setting)][choice];
    if (!step) throw new Error('the way to a state cannot be walked again');
    state = apply(state, step, setting);
    return step;
  });
}
