import { TarefaError } from '../../../errors.js';
import type { DueSchedules, ScheduleDefinition, ScheduleStore } from '../../schedules.js';

/** Refuses schedules: their tasks are inserted by the statement that moves them, and nothing would file these. */
export class NoSchedules implements ScheduleStore {
  async clock(): Promise<number> {
    throw refused();
  }

  async list(): Promise<readonly []> {
    return [];
  }

  async find(): Promise<undefined> {}

  async add(): Promise<boolean> {
    throw refused();
  }

  async change(): Promise<boolean> {
    throw refused();
  }

  async remove(): Promise<boolean> {
    return false;
  }

  async pause(): Promise<boolean> {
    return false;
  }

  async resume(): Promise<boolean> {
    return false;
  }

  async compare(
    schedules: readonly ScheduleDefinition[],
  ): Promise<{ readonly unwritten: readonly []; readonly foreign: readonly [] }> {
    if (schedules.length > 0) throw refused();
    return { unwritten: [], foreign: [] };
  }

  async declare(): Promise<readonly []> {
    throw refused();
  }

  async due(): Promise<DueSchedules> {
    return { due: [], unreadable: [], nowMs: 0, nextInMs: undefined };
  }

  async move(): Promise<readonly []> {
    return [];
  }
}

function refused(): TarefaError {
  return new TarefaError(
    'INPUT_INVALID',
    'a queue on SingleStore has no recurring tasks: insert them from your own scheduler',
  );
}
