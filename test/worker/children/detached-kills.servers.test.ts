import { exerciseKills } from './detached-kills.js';

// The whole matrix is in `detached-kills.long.test.ts`.
exerciseKills([
  ['boot', 'parent'],
  ['take over', 'child'],
  ['take over', 'both'],
  ['taken over untold', 'parent'],
]);
