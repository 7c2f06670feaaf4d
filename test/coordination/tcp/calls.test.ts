import { expect, test } from 'vitest';
import { listenCall, readCall, ringCall, rungText } from '../../../lib/coordination/tcp/calls.js';

test.each([
  ['try_lock(7)', { name: 'try_lock', lock: '7' }],
  ['release_lock(9223372036854775807)', { name: 'release_lock', lock: '9223372036854775807' }],
  ['try_lock(007)', { name: 'try_lock', lock: '7' }],
  ['try_lock(0)', { name: 'try_lock', lock: '0' }],
  ['sleep()', { name: 'sleep' }],
  ['halt()', { name: 'halt' }],
  ['halt_server()', { name: 'halt_server' }],
  ['close()', { name: 'close' }],
  ['joined(7)', { name: 'joined', worker: '7' }],
  ['hold(17)', { name: 'hold', lock: '17' }],
  ['hold()', { name: 'hold', lock: undefined }],
  ['listen("public.tasks")', { name: 'listen', queue: 'public.tasks' }],
])('%s is read', (message, call) => {
  expect(readCall(message)).toEqual(call);
});

test.each([
  ...[
    '',
    'TRUE',
    'NOTIFY',
    'try_lock',
    'try_lock()',
    'try_lock(-1)',
    'try_lock(1.5)',
    'try_lock(7) ',
    ' try_lock(7)',
  ],
  ...[
    'try_lock(99999999999999999999)',
    'TRY_LOCK(7)',
    'sleep(1)',
    'exit()',
    'constructor()',
    'listen(tasks)',
  ],
  ...[
    'listen(1)',
    'ring()',
    'ring(null)',
    'ring({"queue":"q"})',
    'ring({"queue":1,"topic":"tasks"})',
    'ring([])',
  ],
])('%j is no call', (message) => {
  expect(readCall(message)).toBeUndefined();
});

test('what is written is read again, and holds no mark that ends a message', () => {
  const queue = 'public.###END###"\n)';
  const ring = { queue, topic: 'tasks', message: { route: '\u001f###END###', later: true } };
  const json = JSON.stringify(ring);
  for (const text of [listenCall(queue), ringCall(json)]) expect(text).not.toContain('#');
  expect(readCall(listenCall(queue))).toEqual({ name: 'listen', queue });
  expect(readCall(ringCall(json))).toEqual({ name: 'ring', ring });
  expect(JSON.parse(rungText(ringCall(json)) ?? '')).toEqual(ring);
  expect(rungText(listenCall(queue))).toBeUndefined();
});
