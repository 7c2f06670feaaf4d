import { expect, test } from 'vitest';
import { forkChild } from './processes.js';

test('a child gets its arguments and environment, and answers', async () => {
  const child = forkChild('echo', { args: ['a', 'b'], env: { GREETING: 'olá' } });
  expect(await child.message('ready')).toEqual({ type: 'ready', args: ['a', 'b'], greeting: 'olá' });
  child.send({ n: 1 });
  child.send({ n: 2 });
  const second = await child.message(({ message }) => JSON.stringify(message) === '{"n":2}');
  expect(second).toEqual({ type: 'echo', message: { n: 2 } });
  expect(child.messages).toHaveLength(3);
  child.send('stop');
  expect(await child.exit).toEqual({ code: 7, signal: null });
  expect(child.stdout).toBe('stopping\n');
  // A message that came earlier is found after the end as well.
  expect((await child.message('ready')).args).toEqual(['a', 'b']);
});

test('the end of a child ends the waiting for its messages', async () => {
  const child = forkChild('echo');
  await child.message('ready');
  const never = child.message('never').catch((error: unknown) => String(error));
  expect(await child.kill('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await never).toMatch(/ended with SIGKILL.*message "never" is missing/s);
});

test('a message that does not come is given up after a time', async () => {
  const child = forkChild('echo');
  await child.message('ready');
  await expect(child.message('never', 50)).rejects.toThrow('did not send it in 50 ms');
  await child.kill();
});
