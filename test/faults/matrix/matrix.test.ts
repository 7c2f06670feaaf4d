import { describe } from 'vitest';
import { describeMatrix } from './matrix-suite.js';

// The others are in matrix.long.test.ts.
describe.each(['UTF8', 'SQL_ASCII'] as const)('in a database of %s', (encoding) => {
  describeMatrix(encoding);
});
