import { exerciseKills, steps, type Step, type Victim } from './detached-kills.js';

const victims: readonly Victim[] = ['parent', 'child', 'both'];

// Before the child there is only its parent.
exerciseKills(
  steps.flatMap((step): (readonly [Step, Victim])[] =>
    step === 'claim' ? [[step, 'parent']] : victims.map((victim) => [step, victim]),
  ),
);
