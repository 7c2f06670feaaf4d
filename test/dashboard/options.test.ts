import { SetMetadata } from '@nestjs/common';
import { expect, test } from 'vitest';
import { resolveDashboard } from '../../lib/options/dashboard-options.js';
import { hasCode } from '../../lib/errors.js';

class Guard {
  canActivate(): boolean {
    return true;
  }
}

function mistakes(options: unknown, nodeEnv = 'production'): readonly string[] {
  try {
    resolveDashboard(options as object, { NODE_ENV: nodeEnv });
    return [];
  } catch (error) {
    if (!hasCode(error, 'OPTIONS_INVALID')) throw error;
    return error.message.split('\n- ').slice(1);
  }
}

const guards = [Guard];

test.each<readonly [option: string, wrong: readonly unknown[], right: readonly unknown[]]>([
  ['path', ['', '/', 'a b', '/x?y', '/:id', '*', '/a//b', 5], ['queues', '/queues/', '/ops/q-1']],
  ['guards', [Guard, [{}], ['Guard'], [undefined]], [[Guard], [new Guard(), Guard]]],
  ['decorators', [SetMetadata('a', true), ['Public'], [undefined]], [[], [SetMetadata('a', true)]]],
  ['actions', ['retry', ['restart'], [true], 1], [true, false, ['retry', 'pause'], []]],
  ['payloads', ['no', 0], [true, false]],
  ['redact', ['cpf', [''], ['a b'], [/x/], ['a..b']], [[], ['cpf', '*.cpf', 'customer.*.number']]],
  ['actor', ['me', {}], [() => 'me']],
])('the option %s takes what it can mean, and says once what it cannot', (option, wrong, right) => {
  for (const value of right) expect(mistakes({ guards, [option]: value })).toEqual([]);
  for (const value of wrong) {
    const found = mistakes({ guards, [option]: value }, 'test');
    expect(found, `for ${JSON.stringify(value)}`).toHaveLength(1);
    expect(found[0]).toContain(`dashboard.${option}`);
  }
});

test.each([undefined, 'production', 'staging', ''])(
  'without guards it is refused where NODE_ENV is %s, and says how',
  (nodeEnv) => {
    for (const options of [{}, { guards: [] }]) {
      expect(() => resolveDashboard(options, { NODE_ENV: nodeEnv })).toThrow(/guards: \[StaffGuard\]/);
    }
  },
);

test.each(['development', 'test'])('without guards it is served where NODE_ENV is %s', (nodeEnv) => {
  expect(mistakes({}, nodeEnv)).toEqual([]);
});

test('all mistakes are said at once', () => {
  expect(mistakes({ path: '', colour: 'red', actions: 5 })).toHaveLength(4);
  expect(mistakes('yes', 'test')).toEqual([expect.stringContaining('must be an object')]);
});
