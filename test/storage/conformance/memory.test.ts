import { exercise } from './exercise.js';
import { openMemory } from './open-memory.js';

exercise(openMemory);
