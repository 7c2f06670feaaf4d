import { Client } from 'pg';
import { expect, test } from 'vitest';
import { TarefaError } from '../../../lib/errors.js';
import { blamesRow } from '../../../lib/storage/error-kind.js';
import { classifyError } from '../../../lib/storage/postgres/postgres-errors.js';

const withCode = (code: unknown): Error => Object.assign(new Error('refused'), { code });

test.each([
  ['22P05', 'value', true],
  ['23505', 'row', true],
  ['23514', 'value', true],
  ['38000', 'row', true],
  ['39004', 'row', true],
  ['44000', 'row', true],
  ['P0001', 'row', true],
  ['57014', 'timeout', false],
  ['55P03', 'locked', false],
  ['40001', 'retry', false],
  ['40P01', 'retry', false],
  ['57P01', 'connection', false],
  ['08006', 'connection', false],
  ['ECONNRESET', 'connection', false],
  ['42501', 'other', false],
  ['53100', 'other', false],
  ['EPERM', 'other', false],
  [22_000, 'other', false],
])('%s is %s', (code, kind, isOfRow) => {
  expect(classifyError(withCode(code))).toBe(kind);
  expect(blamesRow(classifyError(withCode(code)))).toBe(isOfRow);
});

test('a lost connection is known by the error of ours, and by that of the driver', async () => {
  expect(classifyError(new TarefaError('CONNECTION_LOST', 'the database did not answer'))).toBe('connection');
  const client = new Client();
  await client.end();
  const error: unknown = await client.query('select 1').catch((thrown: unknown) => thrown);
  expect(classifyError(error)).toBe('connection');
  expect([null, undefined, 'thrown', new TarefaError('TASK_LOST', 'lost')].map(classifyError)).toEqual([
    'other',
    'other',
    'other',
    'other',
  ]);
});

test.each([
  ['42P01', 'row'],
  ['21000', 'row'],
  ['TA001', 'row'],
  ['40001', 'retry'],
  ['53100', 'other'],
  ['25006', 'other'],
])('%s is %s where a function meets or raises it', (code, kind) => {
  const where = 'PL/pgSQL function audit() line 1 at SQL statement';
  expect(classifyError(Object.assign(withCode(code), { where }))).toBe(kind);
});

test('what a statement of ours lacks is not about a row', () => {
  expect(classifyError(withCode('42P01'))).toBe('other');
  expect(classifyError(withCode('TA001'))).toBe('other');
});
