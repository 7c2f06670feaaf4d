import { expect, test } from 'vitest';
import { uncompletedElsewhere } from '../../lib/storage/transaction-errors.js';

const claim = { id: '17', reservation: 3 };
const standing = [{ ...claim, cancelled: false, completed: false }];
const nothing = { who: 'shop', status: null, executor: null, reserva: null };
const ours = { who: 'shop', status: 'processando', executor: '7', reserva: '3' };

test.each([
  ['is hidden from it', nothing, 'as shop, does not see its row'],
  ['may only be read by it', ours, 'as shop, may not change its row'],
])('of a task that is still held, whose row %s, a transaction hears the role', (_, seen, text) => {
  const { code, message } = uncompletedElsewhere('7', claim, seen, standing);
  expect(code).toBe('RIGHTS_MISSING');
  expect(message).toContain(
    `attempt 17 is this worker's, but the transaction given to ctx.completeIn, ${text}`,
  );
});

test.each([
  ['nobody holds', nothing, []],
  ['is held by a later claim', ours, [{ ...claim, reservation: 4, cancelled: false, completed: false }]],
  ['has been completed', nothing, [{ ...claim, cancelled: false, completed: true }]],
  ['that transaction has completed', { ...ours, status: 'sucesso' }, standing],
  ['that transaction sees another worker hold', { ...ours, executor: '8' }, standing],
])('a task that %s is lost to a transaction', (_, seen, held) => {
  expect(uncompletedElsewhere('7', claim, seen, held).code).toBe('TASK_LOST');
});
