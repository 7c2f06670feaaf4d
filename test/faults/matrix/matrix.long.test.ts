import { describe } from 'vitest';
import { describeMatrix } from './matrix-suite.js';

describe.each(['WIN1252', 'LATIN1'] as const)('in a database of %s', (encoding) => {
  describeMatrix(encoding);
});
