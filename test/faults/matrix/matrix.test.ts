import { describe } from 'vitest';
import { describeMatrix } from './matrix-suite.js';

// Up to a minute: every column of every table gets every value that nobody should have written, and all who read it answer. One
// such row must not stop a queue, and each new column or reader may be the first that lets it.

// The others are in matrix.long.test.ts.
describe.each(['UTF8', 'SQL_ASCII'] as const)('in a database of %s', (encoding) => {
  describeMatrix(encoding);
});
