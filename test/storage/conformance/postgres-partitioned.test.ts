import { exercise } from './exercise.js';
import { usePostgres } from './open-postgres.js';

// Of so few ids that a test's rows are in several partitions.
exercise(usePostgres({ layout: { partitionIds: 20 } }));
