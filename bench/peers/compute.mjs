// The work of handlers that compute: as in ../protocol.ts.
const roundsOf20Ms = 15_000_000;

/** @param {'compute' | 'compute-long'} kind */
export function compute(kind) {
  const rounds = kind === 'compute' ? roundsOf20Ms : 250 * roundsOf20Ms;
  let value = 1;
  for (let round = 0; round < rounds; round += 1) value = (Math.imul(value, 1_664_525) + 1_013_904_223) | 0;
  return value;
}
