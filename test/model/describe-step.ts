import type { Claim, Place } from './state.js';
import type { Step } from './step.js';

/** A step in words, for the trace of a counterexample: `A` and `B` are tasks, `A1` is an attempt's row. */
export function describeStep(step: Step): string {
  switch (step.kind) {
    case 'insert':
      return `insert ${taskName(step.task)}${step.scheduled ? ' for later' : ''}`;
    case 'promote':
      return step.kind;
    case 'purge':
      return `purge ${taskName(step.task)}`;
    case 'settle and claim':
    case 'late statement arrives': {
      const claimed = step.places.length > 0 ? `, claims ${step.places.map(rowName).join(' and ')}` : '';
      return `${worker(step)}: ${step.kind}${claimed}`;
    }
    case 'succeed':
    case 'throw':
    case 'commit':
    case 'read outcome':
    case 'kill itself':
    case 'lose commit':
      return `${worker(step.attempt)}: ${step.kind} ${rowName(step.attempt)}`;
    case 'late commit arrives':
    case 'late commit vanishes':
      return `${worker(step.claim)}: ${step.kind} ${rowName(step.claim)}`;
    case 'give back by hand':
      return `${step.kind} ${rowName(step.place)}`;
    case 'find lost':
      return `${worker(step)}: ${step.kind} worker ${step.lost}`;
    case 'kill':
    case 'lose control': {
      const { inFlight } = step;
      const sent = typeof inFlight === 'string' ? inFlight : `commit ${rowName(inFlight)}`;
      return `${worker(step)}: ${step.kind}, on its way: ${sent}`;
    }
    default:
      return `${worker(step)}: ${step.kind}`;
  }
}

function worker({ worker: place }: Pick<Claim, 'worker'>): string {
  return `worker ${place}`;
}

function taskName(task: number): string {
  return String.fromCharCode(65 + task);
}

function rowName({ task, row }: Place): string {
  return `${taskName(task)}${row + 1}`;
}
