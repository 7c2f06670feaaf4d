import { expect, test } from 'vitest';

test('applications find the variables of client-server mode in a run that asks for it, and in no other', () => {
  const inMode = process.env['TAREFA_TEST_MODE'] === 'client-server';
  expect(process.env['CLIENT_SERVER_MODE']).toBe(inMode ? 'TRUE' : undefined);
});
