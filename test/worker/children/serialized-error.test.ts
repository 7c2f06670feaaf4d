import { expect, test } from 'vitest';
import { hasCode, RetryAt, RetryIn, TarefaError, UnrecoverableError } from '../../../lib/errors.js';
import { HandlerRefusal } from '../../../lib/subscribers/handler-refusal.js';
import { failureDetail } from '../../../lib/values/failure-text.js';
import { serializeError, deserializeError } from '../../../lib/worker/children/serialized-error.js';
import { nextAttempt } from '../../../lib/worker/running/next-attempt.js';

/** An error that has been sent. */
const sent = (error: unknown): unknown => deserializeError(structuredClone(serializeError(error)));

class CarrierError extends Error {
  readonly request = (): void => undefined;
}

test.each([
  new CarrierError('closed', { cause: Object.assign(new TypeError('why'), { code: 'E_WHY' }) }),
  new AggregateError([new Error('one'), new RangeError('two')], 'both'),
  new TarefaError('PAYLOAD_INVALID', 'no id'),
  Object.assign(new Error('with a code'), { code: 'E_CODE' }),
])('an error is told after it was sent as it was before: %s', (error) => {
  expect(failureDetail(sent(error))).toBe(failureDetail(error));
});

test('errors that say what follows say it after they were sent', () => {
  const options = { retryIntervalMinutes: 1 };
  const next = (error: unknown): unknown => nextAttempt(error, 1, undefined, options);
  for (const error of [
    new UnrecoverableError('never'),
    new RetryIn(5_000),
    new RetryAt(new Date(Date.UTC(2030, 0, 1))),
    new TarefaError('PAYLOAD_INVALID', 'no id'),
    new Error('any'),
  ]) {
    expect(next(sent(error))).toEqual(next(error));
  }
});

test('an error of the library has its class and code again, and a refusal is one', () => {
  expect(hasCode(sent(new TarefaError('TASK_LOST', 'gone')), 'TASK_LOST')).toBe(true);
  expect(sent(new HandlerRefusal('HANDLER_REFUSED', 'no', undefined))).toBeInstanceOf(HandlerRefusal);
  expect(sent(new TarefaError('HANDLER_REFUSED', 'no'))).not.toBeInstanceOf(HandlerRefusal);
});

test('whatever was thrown can be sent', () => {
  const circular = new Error('circular');
  circular.cause = circular;
  const hostile = new Proxy(new Error('hostile'), {
    get: () => {
      throw new Error('a trap');
    },
  });
  expect(sent('text')).toBe('text');
  expect(sent(circular)).toMatchObject({ message: 'circular', cause: { message: 'circular' } });
  for (const thrown of [undefined, null, { deep: () => undefined }, Symbol('s'), hostile]) {
    expect(sent(thrown)).toEqual(expect.stringMatching(/^the handler threw /));
  }
});
