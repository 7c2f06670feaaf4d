import { exercise } from './exercise.js';
import { usePostgres } from './open-postgres.js';

exercise(usePostgres());
