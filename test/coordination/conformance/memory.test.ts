import { exerciseBell } from './bell.js';
import { exerciseLiveness, exerciseRelease } from './liveness.js';
import { openMemoryBells, openMemoryLiveness } from './open-memory.js';
import { run } from './run.js';

run('bell', () => exerciseBell(openMemoryBells));
run('liveness', () => exerciseLiveness(openMemoryLiveness));
run('release', () => exerciseRelease(openMemoryLiveness));
