import { rules } from './rules.js';
import type { Setting } from './step.js';

/** Two tasks and three workers; each test says what may go wrong. */
export const world: Setting = {
  tasks: ['transaction', 'batch'],
  workers: 3,
  maxAttempts: 2,
  maxDeadAttempts: 1,
  faults: 0,
  faultKinds: ['kill', 'lose session', 'lose control', 'lose commit'],
  restarts: false,
  finals: false,
  rules,
};

/** A task that kills its worker each time, beside one that never fails; killed workers are replaced. */
export const poisoned: Setting = {
  ...world,
  tasks: ['poison', 'innocent'],
  maxAttempts: 3,
  restarts: true,
};
