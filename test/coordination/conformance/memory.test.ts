import { describe } from 'vitest';
import { exerciseBell } from './bell.js';
import { exerciseLiveness, exerciseRelease } from './liveness.js';
import { openMemoryBells, openMemoryLiveness } from './open-memory.js';
import { run } from './run.js';

describe('bell', () => run(() => exerciseBell(openMemoryBells)));
describe('liveness', () => run(() => exerciseLiveness(openMemoryLiveness)));
describe('release', () => run(() => exerciseRelease(openMemoryLiveness)));
