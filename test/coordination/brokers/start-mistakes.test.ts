import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect, promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { redisCarrier } from '../../../lib/coordination/brokers/redis-carrier.js';

/** Makes the packages of brokers unknown in a process. */
const hide = `import { register } from 'node:module';
const hooks = \`export async function resolve(name, context, next) {
  if (name === 'redis' || name.startsWith('@nats-io/')) throw new Error('it is not there');
  return next(name, context);
}\`;
register('data:text/javascript,' + encodeURIComponent(hooks));`;

test.each([
  ['redis', 'redis@5', `redisCarrier({ channel: 'rings', client: {} })`],
  ['nats', '@nats-io/transport-node', `natsCarrier({ subject: 'rings', client: {} })`],
])('without the package for %s the error says what to install', async (kind, wanted, make) => {
  const module = pathToFileURL(join(inject('buildDir'), `lib/coordination/brokers/${kind}-carrier.js`)).href;
  const script = `import * as carrier from '${module}';
    await carrier.${make}.catch(({ code, message }) => console.log(code, message));`;
  const args = [
    '--import',
    `data:text/javascript,${encodeURIComponent(hide)}`,
    '--input-type=module',
    '-e',
    script,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toMatch(/^OPTIONS_INVALID .* needs the package "/);
  expect(stdout).toContain(`which cannot be loaded. Run \`npm install ${wanted}\``);
});

test('options that the client of Redis refuses are an error at the start, which does not show the address', async () => {
  const error: unknown = await redisCarrier({
    channel: 'rings',
    client: { url: 'redis://ana:sesame@localhost:port' },
  }).catch((refused: unknown) => refused);
  expect(error).toMatchObject({ code: 'OPTIONS_INVALID' });
  expect(inspect(error)).toMatch(/the options of redis\(\) cannot be used: Invalid URL/);
  expect(inspect(error)).not.toContain('sesame');
});
