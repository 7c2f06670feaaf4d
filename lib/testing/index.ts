export { QueueTester } from './queue-tester.js';
export type { DrainOptions, TaskRun } from './queue-tester.js';
export type { InsertedMatch, InsertedTask } from './inserted-task.js';
export type { Duration } from './duration.js';
export { withoutDatabase } from './without-database.js';
export type { OverridableModule, WithoutDatabaseOptions } from './without-database.js';
export { withTester } from './with-tester.js';
export type { BuilderWithValues } from './with-tester.js';
